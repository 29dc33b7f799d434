import { el, names } from './dom.js'
import * as format from './format.js'

const faultsShown = 20

/**
 * The errors, the first ones at once, each with its place: the cell of a list, the line and field of a file, or the
 * parameter.
 *
 * @param {Partial<Pick<import('./api.js').Schemas['JobError'], 'cell' | 'line' | 'field' | 'pointer' | 'message'>>[]} errors
 * @param {number} count
 */
export function faultsOf(errors, count) {
  const items = errors.map(({ cell, line, pointer = '', message, ...error }) => {
    const field = error.field ?? pointer.split('/').at(-1)
    const parts = [line !== undefined && `line ${format.count(line)}`, field]
    const place = cell ? Object.values(cell) : parts.filter(Boolean)
    return el('li', {}, place.length > 0 && [el('strong', {}, names(place)), ': '], message)
  })
  const rest = items.slice(faultsShown)
  const left = count - items.length
  return el(
    'div',
    {},
    el('ul', { class: 'plain' }, items.slice(0, faultsShown)),
    rest.length > 0 &&
      el(
        'details',
        {},
        el('summary', {}, `and ${format.count(count - faultsShown)} more`),
        el(
          'ul',
          { class: 'plain' },
          rest,
          left > 0 && el('li', {}, `and ${format.count(left)} more`),
        ),
      ),
    rest.length === 0 && left > 0 && el('p', {}, `and ${format.count(left)} more`),
  )
}
