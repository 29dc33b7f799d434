import { get } from '../api.js'
import { el, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty } from '../states.js'
import { table } from '../table.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */
/** @typedef {import('../api.js').Schemas['Revision']} Revision */

const shown = 10

/**
 * The last changes of a list: who, when, what and why.
 *
 * @param {PriceList} list
 * @param {AbortSignal} signal
 */
export async function revisionsOf(list, signal) {
  const path = `/api/v1/price_list/${list.id}/revisions/`
  const { count, results } = await get(path, { limit: shown }, signal)
  const heading = el('h2', {}, 'Changes')
  if (count === 0) return [heading, empty('Nothing has changed yet.', 'Each change is noted here.')]
  return [
    el(
      'div',
      { class: 'heading' },
      heading,
      count > shown && el('span', { class: 'hint' }, `the last ${shown} of ${format.count(count)}`),
    ),
    revisionTable(list, results),
  ]
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
        cell: (revision) =>
          [
            el(
              'a',
              { class: 'strong', href: href(`lists/${list.id}/revisions/${revision.revision}`) },
              whatOf(revision),
            ),
            revision.voided && el('span', { class: 'badge failed' }, 'mistake'),
            revision.note !== undefined && el('span', { class: 'sub' }, name(revision.note)),
          ].filter((node) => node !== false),
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
    priced > 0 && `${format.count(priced)} ${priced === 1 ? 'price' : 'prices'}`,
    added > 0 && `${format.count(added)} ${added === 1 ? 'row' : 'rows'} added`,
    removed > 0 && `${format.count(removed)} ${removed === 1 ? 'row' : 'rows'} removed`,
  ].filter(Boolean)
  const what = counted.length > 0 ? counted.join(', ') : 'published'
  if (!reverts) return what
  const { from, to } = reverts
  return `${what}: undid ${from === to ? `revision ${from}` : `revisions ${from} to ${to}`}`
}
