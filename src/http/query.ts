import type { FastifyRequest } from 'fastify'
import type { RequestError } from '../contract/problem.ts'
import { invalidRequest, pointerSegment } from '../contract/row-errors.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'

/** The query of a request target, as it came. The router takes `#` for its beginning, too. */
function rawQuery(url: string): string {
  const [, query = ''] = url.split(/[?#](.*)/s)
  return query
}

/** Refuses a query that is unreadable or has parameters that its operation does not have. */
export function rejectWrongQuery(request: FastifyRequest): void {
  rejectUnreadable(request)
  rejectUnknown(request)
}

/** Refuses what no text of the service can be: invalid UTF-8, which the router takes as it is, and NUL. */
function rejectUnreadable({ url }: FastifyRequest): void {
  const query = rawQuery(url)
  if (!query.includes('%')) return
  const faults = query
    .split('&')
    .filter((parameter) => !isReadable(parameter))
    .map((parameter): RequestError => {
      const [name = ''] = parameter.split('=')
      const message = 'must be UTF-8 without NUL, percent-encoded'
      return { pointer: `/query/${pointerSegment(name)}`, code: 'format', message }
    })
  if (faults.length > 0) throw invalidRequest(faults)
}

/** A misspelt filter must not answer everything, nor a guessed option act as if it were understood. */
function rejectUnknown({ query, routeOptions }: FastifyRequest): void {
  const { queryNames } = routeOptions.config.operation ?? {}
  if (queryNames === undefined) return
  const faults = Object.keys(query as object)
    .filter((name) => !queryNames.includes(name))
    .map((name): RequestError => {
      const message = 'is not a query parameter of this operation'
      return { pointer: `/query/${pointerSegment(name)}`, code: 'unknown_key', message }
    })
  if (faults.length > 0) throw invalidRequest(faults)
}

/** Refuses a query that names another list than the JSON body, or by another key: it names the list of a file. */
export function rejectOtherList({ query, body }: FastifyRequest): void {
  if (typeof body !== 'object' || body === null || body instanceof FeedBytes) return
  const { name, price_list_name = name, price_list_id } = body as Record<string, unknown>
  const faults = Object.entries({ price_list_name, price_list_id }).flatMap(
    ([key, named]): RequestError[] => {
      const given = (query as Record<string, unknown>)[key]
      // One that is given twice is told to be.
      if (typeof given !== 'string' || given === String(named)) return []
      const message = 'is for files: the JSON body names its list'
      return [{ pointer: `/query/${key}`, code: 'conflicting_keys', message }]
    },
  )
  if (faults.length > 0) throw invalidRequest(faults)
}

function isReadable(parameter: string): boolean {
  try {
    return !decodeURIComponent(parameter).includes('\0')
  } catch {
    return false
  }
}
