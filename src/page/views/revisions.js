import { get } from '../api.js'
import { el, name, refocus } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, refilling } from '../states.js'
import { table } from '../table.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */
/** @typedef {import('../api.js').Schemas['Revision']} Revision */

const shownMax = 10

/**
 * Shows the changes of a list, the last ones first: who, when, what and why.
 *
 * @param {HTMLElement} panel
 * @param {PriceList} list
 * @param {AbortSignal} signal
 */
export function showRevisions(panel, list, signal) {
  const refill = refilling(panel, signal)
  const load = (offset = 0) => refill((current) => revisionsOf({ list, show }, offset, current))
  const show = async (/** @type {number} */ offset) => {
    await load(offset)
    refocus(panel, 'h2')
  }
  void load()
}

/**
 * @param {{ list: PriceList, show: (offset: number) => void }} shown
 * @param {number} offset
 * @param {AbortSignal} signal
 */
async function revisionsOf({ list, show }, offset, signal) {
  const path = `/api/v1/price_list/${list.id}/revisions/`
  const { count, results } = await get(path, { offset, limit: shownMax }, signal)
  const heading = el('h2', { tabindex: -1 }, 'Changes')
  if (count === 0) return [heading, empty('Nothing has changed yet.', 'Each change is noted here.')]
  return [
    el(
      'div',
      { class: 'heading' },
      heading,
      count > shownMax &&
        el(
          'span',
          { class: 'hint' },
          `${format.count(offset + 1)} to ${format.count(offset + results.length)} of ${format.count(count)}, the last first`,
        ),
    ),
    revisionTable(list, results),
    pager(offset, count, show),
  ]
}

/**
 * @param {number} offset
 * @param {number} count
 * @param {(offset: number) => void} show
 */
function pager(offset, count, show) {
  if (count <= shownMax) return undefined
  const to = (/** @type {number} */ start, /** @type {string} */ text) =>
    start < 0 || start >= count
      ? el('span', { class: 'off' }, text)
      : el('button', { type: 'button', class: 'quiet', onclick: () => show(start) }, text)
  return el(
    'nav',
    { class: 'pager', 'aria-label': 'Pages of changes' },
    to(offset - shownMax, '← Newer'),
    to(offset + shownMax, 'Older →'),
  )
}

/**
 * @param {PriceList} list
 * @param {Revision[]} revisions
 */
function revisionTable(list, revisions) {
  return table({
    caption: `Changes of ${list.name}`,
    rows: revisions,
    columns: [
      {
        label: 'Change',
        cell: (revision) => [
          el(
            'a',
            { class: 'strong', href: href(`lists/${list.id}/revisions/${revision.revision}`) },
            `${revision.revision}: ${whatOf(revision)}`,
          ),
          revision.voided && ' ',
          revision.voided && el('span', { class: 'badge failed' }, 'mistake'),
          revision.note !== undefined && el('span', { class: 'sub' }, name(revision.note)),
        ],
      },
      { label: 'By', isWide: true, cell: ({ actor }) => name(actor.name) },
      {
        label: 'When',
        cell: ({ at }) => el('time', { datetime: at, title: format.moment(at) }, format.ago(at)),
      },
    ],
  })
}

/** What a revision did, in words. @param {Revision} revision */
export function whatOf({ priced, added, removed, reverts }) {
  const counted = [
    priced > 0 && format.counted(priced, 'price'),
    added > 0 && `${format.counted(added, 'row')} added`,
    removed > 0 && `${format.counted(removed, 'row')} removed`,
  ].filter(Boolean)
  const what = counted.length > 0 ? counted.join(', ') : 'published'
  if (!reverts) return what
  const { from, to } = reverts
  return `${what}: undid ${from === to ? `revision ${from}` : `revisions ${from} to ${to}`}`
}
