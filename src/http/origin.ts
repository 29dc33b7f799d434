import type { FastifyRequest } from 'fastify'
import type { Origin } from '../contract/operation.ts'
import { invalidRequest } from '../contract/row-errors.ts'

const noteLengthMax = 255

/** Who sends a request, and why. Throws `invalid-request` for a Change-Note that is no text of 1 to 255 characters. */
export function originOf({ caller, headers, id }: FastifyRequest): Origin {
  const { type = 'user', subject = '', name = subject } = caller ?? {}
  const actor = { type, id: subject, name }
  const note = readNote(headers['change-note'])
  return { actor, request_id: id, ...(note !== undefined && { note }) }
}

/** Node reads headers as Latin-1; the note is UTF-8. */
function readNote(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const note = Buffer.from(String(header), 'latin1').toString('utf8')
  const isText = note !== '' && [...note].length <= noteLengthMax && !note.includes('\ufffd')
  if (isText) return note
  const message = `must have 1 to ${noteLengthMax} characters, as UTF-8`
  throw invalidRequest([{ pointer: '/header/Change-Note', code: 'length', message }])
}
