import { Failure, get } from '../api.js'
import { announce, crumbs, el, name, names } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, fill } from '../states.js'
import { table } from '../table.js'
import { fact } from './list.js'
import { whatOf } from './revisions.js'
import { undoing } from './undo.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ list: Schemas['PriceList'], revision: Schemas['Revision'], extensions: { name: string }[] }} Shown */

const cellsMax = 1000

/** @type {import('../main.js').View<{ id: number, revision: number }>} */
export function showRevision(main, { id, revision: number }, signal) {
  const path = `/api/v1/price_list/${id}/revisions/${number}`
  const heading = el('h1', {}, `Revision ${number}`)
  const crumb = el('a', { href: href(`lists/${id}`) }, `Price list ${id}`)
  const facts = el('div', { class: 'panel' })
  const cells = el('div', { class: 'panel' })
  main.replaceChildren(
    crumbs(el('a', { href: href('lists') }, 'Price lists'), ' › ', crumb),
    heading,
    facts,
    cells,
  )
  void fill(facts, signal, async () => {
    const [list, revision, { extensions }] = await Promise.all([
      get(`/api/v1/price_list/${id}`, {}, signal),
      get(path, {}, signal),
      get('/api/v1/product_catalog/schema/', {}, signal),
    ])
    crumb.replaceChildren(name(list.name))
    document.title = `Revision ${number} · ${list.name} · Pricewell`
    void fill(cells, signal, () => differences({ list, revision, extensions }, signal))
    const place = el('div', {}, factsOf(revision))
    const onVoided = () =>
      void fill(place, signal, async () => factsOf(await get(path, {}, signal)))
    return [place, undoing({ list, revision, signal, onVoided })]
  })
}

/** @param {Schemas['Revision']} revision */
function factsOf(revision) {
  const { at, actor, note, override, request_id, voided } = revision
  return el(
    'dl',
    { class: 'facts' },
    fact('What', whatOf(revision)),
    fact('When', format.moment(at)),
    fact('By', name(actor.name)),
    note !== undefined && fact('Why', name(note)),
    override !== undefined && fact('Guardrails overridden', name(override)),
    voided && fact('Marked', 'as a mistake'),
    fact('Request', el('code', {}, request_id)),
  )
}

/**
 * The cells that the revision changed, largest change first; by code where sorting them would take too long.
 *
 * @param {Shown} shown
 * @param {AbortSignal} signal
 */
async function differences({ list, revision: { revision }, extensions }, signal) {
  const path = `/api/v1/price_list/${list.id}/diff/`
  const query = { from: revision - 1, to: revision, limit: cellsMax }
  let order = 'the largest change first'
  const { count, results } = await get(path, { ...query, order: 'change' }, signal).catch(
    (error) => {
      if (!(error instanceof Failure && error.type === 'too-costly')) throw error
      order = 'by code'
      return get(path, query, signal)
    },
  )
  const counted = format.counted(count, 'cell')
  announce(counted)
  if (count === 0) return empty('No price is different.', 'The list was published as it was.')
  const isPart = count > results.length
  const limited = isPart ? `, the first ${format.count(results.length)}` : ''
  return [
    el(
      'div',
      { class: 'heading' },
      el('h2', {}, counted),
      el('span', { class: 'hint' }, `${order}${limited}`),
    ),
    cellTable(list, { cells: results, isPart }, extensions),
  ]
}

/**
 * @param {Schemas['PriceList']} list
 * @param {{ cells: Schemas['CellChange'][], isPart: boolean }} found
 * @param {{ name: string }[]} extensions
 */
function cellTable(list, { cells, isPart }, extensions) {
  /** @param {Schemas['CellChange']} cell */
  const place = ({ price_dimension, date, ...row }) =>
    [
      ...extensions.map((column) => row[column.name]),
      list.price_dimensions.length > 1 && price_dimension,
      date && format.day(date),
    ].filter((part) => part !== false && part !== undefined)
  return table({
    caption: 'Changed cells',
    isCards: true,
    rows: cells,
    isPart,
    columns: [
      {
        label: 'Product',
        sort: ({ code }) => code,
        cell: (cell) =>
          el(
            'div',
            {},
            el(
              'a',
              {
                class: 'strong',
                href: href('prices', { code: cell.code, list: list.id, date: cell.date }),
              },
              name(cell.code),
            ),
            el('span', { class: 'sub' }, names(place(cell))),
          ),
      },
      {
        label: 'Before',
        isNumber: true,
        sort: ({ old }) => old ?? -1,
        cell: ({ old, change }) => (change === 'added' ? 'not in the list' : format.price(old)),
      },
      {
        label: 'After',
        isNumber: true,
        sort: (cell) => cell.new ?? -1,
        cell: (cell) => (cell.change === 'removed' ? 'left the list' : format.price(cell.new)),
      },
      {
        label: 'Change',
        isNumber: true,
        sort: (cell) => cell.change_percent ?? Number.POSITIVE_INFINITY,
        cell: ({ change_percent }) => format.change(change_percent),
      },
    ],
  })
}
