import { Failure, get, jobEvents, post } from '../api.js'
import { announce, el, name, names } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { session } from '../session.js'
import { empty, failed, fill, lacking } from '../states.js'
import { table } from '../table.js'
import { fact } from './list.js'
import { whatOf } from './revisions.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ list: Schemas['PriceList'], revision: Schemas['Revision'] }} Shown */

const cellsMax = 1000

/** @type {import('../main.js').View<{ id: number, revision: number }>} */
export function showRevision(main, { id, revision: number }, signal) {
  const heading = el('h1', {}, `Revision ${number}`)
  const crumb = el('a', { href: href(`lists/${id}`) }, `Price list ${id}`)
  const facts = el('div', { class: 'panel' })
  const cells = el('div', { class: 'panel' })
  main.replaceChildren(
    el(
      'nav',
      { class: 'crumbs', 'aria-label': 'Breadcrumb' },
      el('a', { href: href('lists') }, 'Price lists'),
      ' › ',
      crumb,
    ),
    heading,
    facts,
    cells,
  )
  void fill(facts, signal, async () => {
    const [list, revision, schema] = await Promise.all([
      get(`/api/v1/price_list/${id}`, {}, signal),
      get(`/api/v1/price_list/${id}/revisions/${number}`, {}, signal),
      get('/api/v1/product_catalog/schema/', {}, signal),
    ])
    crumb.replaceChildren(name(list.name))
    document.title = `Revision ${number} · ${list.name} · Pricewell`
    void fill(cells, signal, () => differences({ list, revision }, schema, signal))
    return [factsOf(revision), undoing({ list, revision }, signal)]
  })
}

/** @param {Schemas['Revision']} revision */
function factsOf(revision) {
  const { at, actor, note, request_id, voided } = revision
  return el(
    'dl',
    { class: 'facts' },
    fact('What', whatOf(revision)),
    fact('When', format.moment(at)),
    fact('By', name(actor.name)),
    note !== undefined && fact('Why', name(note)),
    voided && fact('Marked', 'as a mistake'),
    fact('Request', el('code', {}, request_id)),
  )
}

/**
 * The cells that the revision changed, largest change first.
 *
 * @param {Shown} shown
 * @param {Schemas['CatalogSchema']} schema
 * @param {AbortSignal} signal
 */
async function differences({ list, revision: { revision } }, { extensions }, signal) {
  const query = { from: revision - 1, to: revision, limit: cellsMax }
  const { count, results } = await get(`/api/v1/price_list/${list.id}/diff/`, query, signal)
  announce(`${format.count(count)} changes`)
  if (count === 0) return empty('No price is different.', 'The list was published as it was.')
  const limited = count > results.length && `of the first ${format.count(results.length)}`
  return [
    el(
      'div',
      { class: 'heading' },
      el('h2', {}, `${format.count(count)} ${count === 1 ? 'cell' : 'cells'}`),
      el('span', { class: 'hint' }, `the largest change first${limited ? `, ${limited}` : ''}`),
    ),
    cellTable(
      list,
      { cells: results.toSorted(bySize), isPart: count > results.length },
      extensions,
    ),
  ]
}

/** @param {Schemas['CellChange']} a @param {Schemas['CellChange']} b */
const bySize = (a, b) => sizeOf(b) - sizeOf(a)

/** Ranks added and removed rows, and first prices, first. @param {Schemas['CellChange']} cell */
const sizeOf = ({ change_percent }) =>
  change_percent === null ? Number.POSITIVE_INFINITY : Math.abs(change_percent)

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
              { class: 'strong', href: href('prices', { code: cell.code, list: list.id }) },
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

/**
 * A button that undoes the revision after confirmation.
 *
 * @param {Shown} shown
 * @param {AbortSignal} signal
 */
function undoing(shown, signal) {
  if (!session.allows('write')) return lacking('write', 'undo this change')
  const place = el('div', {})
  const ask = () => place.replaceChildren(question(shown, place, signal))
  place.replaceChildren(el('button', { type: 'button', onclick: ask }, 'Undo this change'))
  return place
}

/**
 * @param {Shown} shown
 * @param {Element} place
 * @param {AbortSignal} signal
 */
function question(shown, place, signal) {
  const text = { type: 'text', dir: 'auto', maxlength: 255 }
  const note = el('input', { ...text, placeholder: 'Why (optional)' })
  const isMistake = el('input', { type: 'checkbox' })
  const revert = () =>
    undo(shown, place, signal, { note: note.value, isMistake: isMistake.checked })
  const cancel = () => place.replaceChildren(undoing(shown, signal))
  return el(
    'div',
    { class: 'notice', role: 'group', 'aria-label': 'Undo this change' },
    el('p', { class: 'lead' }, `Undo ${whatOf(shown.revision)}?`),
    el('p', {}, 'What it changed gets its former price again. Later changes stay.'),
    el('label', {}, el('span', {}, 'Note'), note),
    el('label', { class: 'check' }, isMistake, ' Mark the change as a mistake'),
    el(
      'p',
      {},
      el('button', { type: 'button', class: 'primary', onclick: revert }, 'Undo'),
      ' ',
      el('button', { type: 'button', class: 'quiet', onclick: cancel }, 'Cancel'),
    ),
  )
}

/**
 * @param {Shown} shown
 * @param {Element} place
 * @param {AbortSignal} signal
 * @param {{ note: string, isMistake: boolean, isSkipping?: boolean }} wish
 */
async function undo(shown, place, signal, wish) {
  const { list, revision } = shown
  place.replaceChildren(el('p', { role: 'status' }, 'Undoing …'))
  const body = {
    revision: revision.revision,
    void: wish.isMistake,
    on_conflict: wish.isSkipping ? 'skip' : 'reject',
  }
  try {
    const path = `/api/v1/price_list/${list.id}/revert/`
    const answer = await post(path, body, signal, { 'change-note': wish.note.trim() })
    const result = 'id' in answer ? await resultOf(answer.id, signal) : answer
    if (!signal.aborted) place.replaceChildren(undone(list, result))
  } catch (error) {
    if (signal.aborted) return
    const isConflict = error instanceof Failure && error.type === 'revert-conflict'
    const skip = () => undo(shown, place, signal, { ...wish, isSkipping: true })
    place.replaceChildren(
      failed(error),
      isConflict
        ? el('button', { type: 'button', onclick: skip }, 'Undo the rest')
        : el(
            'button',
            { type: 'button', onclick: () => undo(shown, place, signal, wish) },
            'Try again',
          ),
    )
  }
}

/** @param {number} id @param {AbortSignal} signal */
async function resultOf(id, signal) {
  for await (const _ of jobEvents(id, signal));
  const job = await get(`/api/v1/jobs/${id}/`, {}, signal)
  if (job.status === 'done') return job.result
  const [{ code, message } = { code: undefined, message: 'The job has failed.' }] = job.errors
  throw new Failure({ type: code, title: 'Nothing was undone', detail: message })
}

/**
 * @param {Schemas['PriceList']} list
 * @param {Schemas['RevertResult']} result
 */
function undone(list, { revision, priced, added, removed, skipped }) {
  announce('Undone')
  if (priced + added + removed === 0) return el('p', {}, 'There was nothing to undo.')
  return el(
    'p',
    { role: 'status' },
    'Undone: ',
    el('a', { href: href(`lists/${list.id}/revisions/${revision}`) }, `revision ${revision}`),
    skipped > 0 && `, ${format.count(skipped)} left out because they were changed again`,
    '.',
  )
}
