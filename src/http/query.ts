import type { FastifyRequest } from 'fastify'
import type { RequestError } from '../contract/problem.ts'
import { invalidRequest } from '../contract/row-errors.ts'

/** The query of a request target, as it came. The router takes `#` for its beginning, too. */
export function rawQuery(url: string): string {
  const [, query = ''] = url.split(/[?#](.*)/s)
  return query
}

/** Refuses a query with what no text of the service can be: invalid UTF-8, which the router takes as it is, and NUL. */
export function rejectUnreadableQuery({ url }: FastifyRequest): void {
  const query = rawQuery(url)
  if (!query.includes('%')) return
  const faults = query
    .split('&')
    .filter((parameter) => !isReadable(parameter))
    .map((parameter): RequestError => {
      const [name = ''] = parameter.split('=')
      const message = 'must be UTF-8 without NUL, percent-encoded'
      return { pointer: `#/query/${name}`, code: 'format', message }
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
