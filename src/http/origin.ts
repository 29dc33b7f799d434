import type { FastifyRequest } from 'fastify'
import type { Origin } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { invalidRequest } from '../contract/row-errors.ts'

const textLengthMax = 255

/**
 * Who sent a request, and why. Throws `invalid-request` for a Change-Note or Override-Guardrails that is not 1 to 255
 * characters of UTF-8, and `forbidden` for an override without its scope.
 */
export function originOf({ caller, headers, id }: FastifyRequest): Origin {
  const { type = 'user', subject = '', name = subject } = caller ?? {}
  const actor = { type, id: subject, name }
  const note = readText('Change-Note', headers)
  const override = readText('Override-Guardrails', headers)
  if (override !== undefined && !caller?.scopes.has('override'))
    throw new Problem('forbidden', 'The token lacks the scope "override".')
  return {
    actor,
    request_id: id,
    ...(note !== undefined && { note }),
    ...(override !== undefined && { override }),
  }
}

/** Node reads headers as Latin-1; the text is UTF-8. */
function readText(name: string, headers: FastifyRequest['headers']): string | undefined {
  const header = headers[name.toLowerCase()]
  if (header === undefined) return undefined
  const text = Buffer.from(String(header), 'latin1').toString('utf8')
  const isText = text !== '' && [...text].length <= textLengthMax && !text.includes('\ufffd')
  if (isText) return text
  const message = `must have 1 to ${textLengthMax} characters, as UTF-8`
  throw invalidRequest([{ pointer: `/header/${name.toLowerCase()}`, code: 'length', message }])
}
