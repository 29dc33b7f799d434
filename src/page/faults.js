import { el, names } from './dom.js'
import * as format from './format.js'

const faultsShown = 20

/**
 * The first errors, each with its place: the cell of a list, the line and field of a file, or the parameter.
 *
 * @param {Partial<Pick<import('./api.js').Schemas['JobError'], 'cell' | 'line' | 'field' | 'pointer' | 'message'>>[]} errors
 * @param {number} count
 */
export function faultsOf(errors, count) {
  const more = count - Math.min(errors.length, faultsShown)
  const items = errors
    .slice(0, faultsShown)
    .map(({ cell, line, pointer = '', message, ...error }) => {
      const field = error.field ?? pointer.split('/').at(-1)
      const parts = [line !== undefined && `line ${format.count(line)}`, field]
      const place = cell ? Object.values(cell) : parts.filter(Boolean)
      return el('li', {}, place.length > 0 && [el('strong', {}, names(place)), ': '], message)
    })
  return el(
    'ul',
    { class: 'plain' },
    items,
    more > 0 && el('li', {}, `and ${format.count(more)} more`),
  )
}
