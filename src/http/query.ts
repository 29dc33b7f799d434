import type { FastifyRequest } from 'fastify'
import type { RequestError } from '../contract/problem.ts'
import { invalidRequest, pointerSegment } from '../contract/row-errors.ts'
import { isFile } from './contract.ts'

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

/** Parameters that name the list of a file; a JSON body names it itself, and it may be another one. */
const listParameters = new Set(['price_list_name', 'price_list_id'])

/** A misspelt filter would answer everything, and a guessed option would seem to work. */
function rejectUnknown({ query, headers, routeOptions }: FastifyRequest): void {
  const { operation } = routeOptions.config
  if (operation?.queryNames === undefined) return
  const { queryNames, hasBody } = operation
  const namesList = hasBody && !isFile(headers['content-type'])
  const faults = Object.entries(query as object).flatMap(([name, value]): RequestError[] => {
    const pointer = `/query/${pointerSegment(name)}`
    if (!queryNames.includes(name))
      return [
        { pointer, code: 'unknown_key', message: 'is not a query parameter of this operation' },
      ]
    // A parameter given twice is reported later.
    if (namesList && listParameters.has(name) && typeof value === 'string')
      return [{ pointer, code: 'not_allowed', message: 'is for files: a JSON body names its list' }]
    return []
  })
  if (faults.length > 0) throw invalidRequest(faults)
}

function isReadable(parameter: string): boolean {
  try {
    return !decodeURIComponent(parameter).includes('\0')
  } catch {
    return false
  }
}
