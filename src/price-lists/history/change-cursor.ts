import { invalidRequest } from '../../contract/row-errors.ts'
import type { PriceList } from '../queries.ts'
import { historyNotKept } from './moments.ts'

/**
 * How far a reader of changes has come: through a whole revision; through its first `read` changes, if there are any; or,
 * with `code`, through those of all codes before it, and the first `read` of it and later ones.
 */
export interface Place {
  revision: number
  read: number
  code?: string | undefined
}

/** The first revision that is not read to its end. */
export const firstRevision = ({ revision, read, code }: Place): number =>
  read > 0 || code !== undefined ? revision : revision + 1

/** The text of a place, which `readPlace` parses. */
export function cursorOf({ id }: PriceList, { revision, read, code }: Place): string {
  const within = code === undefined ? '' : `.${code}`
  return Buffer.from(`${id}.${revision}.${read}${within}`).toString('base64url')
}

const cursor = /^(\d+)\.(\d{1,9})\.(\d{1,15})(?:\.([^\0]*))?$/s

/**
 * Parses a revision or a cursor. Throws `invalid-request` if it is ahead of the list or belongs to another one, and
 * `history-not-kept`.
 */
export function readPlace(list: PriceList, after: string): Place {
  const reject = (message: string) =>
    invalidRequest([{ pointer: '/query/after', code: 'range', message }])
  const isRevision = /^\d{1,9}$/.test(after)
  const [, id, revision, read, code] = cursor.exec(Buffer.from(after, 'base64url').toString()) ?? []
  if (!isRevision && Number(id) !== list.id)
    throw reject('must be a revision or a next of this list')
  const place = isRevision
    ? { revision: Number(after), read: 0 }
    : { revision: Number(revision), read: Number(read), code }
  if (place.revision > list.version) throw reject(`the newest revision is ${list.version}`)
  if (firstRevision(place) - 1 < list.oldest_revision) throw historyNotKept(list)
  return place
}
