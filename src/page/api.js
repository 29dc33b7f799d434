import { withQuery } from './routes.js'
import { session } from './session.js'

/** @typedef {import('../../generated/openapi.d.ts').components['schemas']} Schemas */
/** @typedef {import('./routes.js').Query} Query */

/** A response that is not a success, or no response. */
export class Failure extends Error {
  /** @param {Partial<Schemas['Problem']>} problem */
  constructor({ type, title = 'No answer', detail = '', status = 0, instance = '', ...rows }) {
    super(detail || title)
    this.type = type
    this.title = title
    this.status = status
    this.instance = instance
    this.errors = rows.errors ?? []
    this.errorCount = rows.error_count ?? this.errors.length
  }
}

/**
 * @param {string} path
 * @param {Query} query
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query, signal) {
  const response = await send(withQuery(path, query), signal ? { signal } : {})
  return response.json()
}

/** @type {Set<string | undefined>} */
const tooMuch = new Set(['result-too-large', 'too-costly'])

/**
 * One page of a list, with fewer rows than the limit if the response would be too large or too slow.
 *
 * @param {string} path
 * @param {Query & { limit: number }} query
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function getPage(path, query, signal) {
  const fewer = Math.floor(query.limit / 4)
  try {
    return await get(path, query, signal)
  } catch (error) {
    const isTooMuch = error instanceof Failure && tooMuch.has(error.type)
    if (!isTooMuch || fewer === 0) throw error
    return getPage(path, { ...query, limit: fewer }, signal)
  }
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @param {Record<string, string>} [texts] Further headers, also with words of the reader; empty ones are left out.
 * @returns {Promise<any>}
 */
export async function post(path, body, signal, texts = {}) {
  const present = Object.entries(texts).filter(([, text]) => text !== '')
  const response = await send(path, {
    ...(signal && { signal }),
    method: 'POST',
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...Object.fromEntries(present.map(([header, text]) => [header, latin1(text)])),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return response.status === 204 ? undefined : response.json()
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 */
export async function remove(path, signal) {
  await send(path, { signal, method: 'DELETE' })
}

/** A text as UTF-8 bytes in a Latin-1 string, for use in a header. @param {string} text */
const latin1 = (text) => String.fromCharCode(...new TextEncoder().encode(text))

/** How often a job that runs is looked at. */
const lookMs = 500

/** The failure of a job that the service had accepted. */
class JobFailure extends Failure {}

/**
 * The result of a job, once it has ended. Throws a JobFailure with this title if the job failed.
 *
 * @param {number} id
 * @param {string} title
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function resultOfJob(id, title, signal) {
  const { status, result, errors, progress } = await get(`/api/v1/jobs/${id}/`, {}, signal)
  if (status === 'progress') {
    await new Promise((resolve) => setTimeout(resolve, lookMs))
    return resultOfJob(id, title, signal)
  }
  if (status === 'done') return result
  const [{ code, message } = { code: undefined, message: 'The job has failed.' }, ...rows] = errors
  const faults = { errors: rows, error_count: Math.max(rows.length, progress.error) }
  throw new JobFailure({ type: code, title, detail: message, ...faults })
}

/** A new `Idempotency-Key`: a request that is sent again with it has no second effect. */
export const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-')

/**
 * The key to try a request again with: its own if its answer may be lost, a new one if its job failed, because its own
 * would get the same job again.
 *
 * @param {unknown} error
 * @param {string} key
 */
export const keyToRetry = (error, key) => (error instanceof JobFailure ? newKey() : key)

/**
 * Sends a request to a path relative to the page, because both may be below a path prefix. Throws a Failure; a 401 ends
 * the session.
 *
 * @param {string} path
 * @param {RequestInit} init
 */
async function send(path, init) {
  const headers = new Headers(init.headers)
  if (session.token) headers.set('authorization', `jwt ${session.token}`)
  const response = await fetch(path.slice(1), { ...init, headers }).catch((error) => {
    if (error.name === 'AbortError') throw error
    throw new Failure({ detail: 'The service cannot be reached.' })
  })
  if (response.ok) return response
  const { status } = response
  // A proxy before the service answers in its own way.
  const detail = `The answer has the HTTP status ${status}.`
  const problem = await response.json().catch(() => undefined)
  const failure = new Failure({ status, detail, ...problem })
  if (failure.status === 401 && session.token) {
    session.end()
    dispatchEvent(new Event('session-ended'))
  }
  throw failure
}
