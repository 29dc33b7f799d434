/**
 * The view that the URL fragment names.
 *
 * @typedef {{ view: 'lists', search: string }
 *   | { view: 'list', id: number } & import('./views/list-place.js').Place
 *   | { view: 'revision', id: number, revision: number }
 *   | { view: 'prices', code: string, list: number | undefined, on: string | undefined, date: string | undefined,
 *       asOf: string | undefined }
 *   | { view: 'plans', list: number | undefined, status: string }
 *   | { view: 'plan', id: number, page: number, action: string, violation: string }
 *   | { view: 'jobs' }
 *   | { view: 'password' }
 *   | { view: 'missing' }} Route
 */

const isOrder = /^-?(code|price|margin)$/
const isDay = /^\d{4}-\d{2}-\d{2}$/

/**
 * @param {string} hash
 * @returns {Route}
 */
export function readRoute(hash) {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  const values = new URLSearchParams(query)
  const dayOf = (/** @type {string} */ key) => {
    const value = values.get(key) ?? ''
    return isDay.test(value) ? value : undefined
  }
  if (path === '' || path === 'lists') return { view: 'lists', search: values.get('q') ?? '' }
  if (path === 'jobs' || path === 'password') return { view: path }
  if (path === 'prices') {
    const list = readId(values.get('list'))
    const code = values.get('code') ?? ''
    const days = { on: dayOf('on'), date: dayOf('date'), asOf: dayOf('as_of') }
    return { view: 'prices', code, list, ...days }
  }
  if (path === 'plans') {
    return { view: 'plans', list: readId(values.get('list')), status: values.get('status') ?? '' }
  }
  if (path.startsWith('plans/')) return readPlan(path, values)
  const [, list, change] = /^lists\/([^/]+)(?:\/revisions\/(.+))?$/.exec(path) ?? []
  const [id, revision] = [readId(list), readId(change)]
  if (id === undefined || (change !== undefined && revision === undefined))
    return { view: 'missing' }
  if (revision !== undefined) return { view: 'revision', id, revision }
  return {
    view: 'list',
    id,
    page: readId(values.get('page')) ?? 1,
    date: dayOf('date'),
    asOf: dayOf('as_of'),
    contains: values.get('contains') ?? '',
    order: isOrder.test(values.get('order') ?? '') ? (values.get('order') ?? '') : '',
    dimension: values.get('price_dimension') ?? '',
  }
}

/**
 * @param {string} path
 * @param {URLSearchParams} values
 * @returns {Route}
 */
function readPlan(path, values) {
  const id = readId(path.slice('plans/'.length))
  if (id === undefined) return { view: 'missing' }
  const [action = '', violation = ''] = ['action', 'violation'].map((key) => values.get(key) ?? '')
  return { view: 'plan', id, page: readId(values.get('page')) ?? 1, action, violation }
}

/** @param {string | null | undefined} text */
function readId(text) {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}

/** @typedef {Record<string, string | number | undefined>} Query */

/** The URL fragment of a view. @param {string} path @param {Query} [values] */
export const href = (path, values) => `#/${withQuery(path, values)}`

/**
 * A path with a query, without absent and empty values.
 *
 * @param {string} path
 * @param {Query} values
 */
export function withQuery(path, values = {}) {
  const present = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams(present.map(([key, value]) => [key, String(value)])).toString()
  return `${path}${query && `?${query}`}`
}
