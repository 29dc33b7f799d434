import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { Problem } from '../contract/problem.ts'
import { nextTurn } from '../next-turn.ts'
import { findFault } from './json-fault.ts'
import { JsonScanner, type Slice } from './json-scanner.ts'
import { countMembers, malformed, parseText } from './json-value.ts'
import { findRepeatedKey } from './repeated-key.ts'
import { locate, rowsPointer } from './shape-errors.ts'

/** Scanned and parsed in about 3 ms; then other requests get their turn. */
const sliceBytes = 256 * 1024

/**
 * Parses a JSON body without holding up other requests: a long array (the body, or a member of it) is parsed in slices.
 * Refuses, with `malformed-body`, what JSON.parse lets through and a database or a second reader would see differently:
 * invalid UTF-8, NUL and lone surrogates, keys given twice, `__proto__` keys, depth over 32; and more than 10,000 keys in
 * an object. A number that a double cannot hold as it was written becomes infinite, which no schema accepts.
 */
export async function parseJson(body: Buffer): Promise<unknown> {
  if (!isUtf8(body)) throw malformed('The body is not valid UTF-8.')
  const scanner = new JsonScanner(body, sliceBytes)
  while (scanner.advance(sliceBytes)) await nextTurn()
  if (scanner.slices.length === 0) return parseWhole(body.toString('utf8'), scanner.members)
  const rows: unknown[] = []
  for (const slice of scanner.slices) {
    for (const row of parseSlice(body, slice, rows.length, scanner.arrayPointer)) rows.push(row)
    await nextTurn()
  }
  return parseAround(body, scanner.slices, scanner.members, rows)
}

function parseWhole(text: string, members: number): unknown {
  const value = parseText(text)
  if (value === undefined) {
    const index = findFault(text)
    const lines = text.slice(0, index).split('\n')
    const place = `line ${lines.length} column ${(lines.at(-1) ?? '').length + 1}`
    throw malformed(`The body is not valid JSON at position ${index} (${place}).`)
  }
  if (countMembers(value, text.includes('\\')) === members) return value
  throw repeatedKey(findRepeatedKey(text), rowsPointer(value) ?? '')
}

/** Rows of one slice. It ends at a comma or the bracket, so it has no rows only where a comma stands alone. */
function parseSlice(
  body: Buffer,
  { start, end, members }: Slice,
  firstRow: number,
  arrayPointer: '' | '/payload',
): unknown[] {
  const text = `[${body.toString('utf8', start, end)}]`
  const rows = parseText(text) as unknown[] | undefined
  if (rows === undefined || rows.length === 0) {
    const position = start + Buffer.byteLength(text.slice(1, findFault(text)))
    throw malformed(`The body is not valid JSON at byte ${position}.`)
  }
  if (countMembers(rows, text.includes('\\')) === members) return rows
  const [, row = '0', rest = ''] = /^\/(\d+)(.*)$/s.exec(findRepeatedKey(text)) ?? []
  throw repeatedKey(`${arrayPointer}/${Number(row) + firstRow}${rest}`, arrayPointer)
}

/** The body with the parsed rows in the place of the array that was sliced. */
function parseAround(body: Buffer, slices: Slice[], members: number, rows: unknown[]): unknown {
  const placeholder = randomUUID()
  const before = body.toString('utf8', 0, slices[0]?.start)
  const after = body.toString('utf8', slices.at(-1)?.end)
  const value = parseWhole(`${before}"${placeholder}"${after}`, members)
  if (Array.isArray(value)) return rows
  const around = value as Record<string, unknown>
  const isPlace = (key: string) => Array.isArray(around[key]) && around[key][0] === placeholder
  return { ...around, [Object.keys(around).find(isPlace) ?? '']: rows }
}

function repeatedKey(pointer: string, rowsAt: string): Problem {
  const error = { pointer, code: 'not_allowed', message: 'this key is given twice' } as const
  return new Problem('malformed-body', `An object has the same key twice, at ${pointer}.`, {
    errors: [locate(error, rowsAt)],
  })
}
