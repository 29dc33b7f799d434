import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { JsonScanner, type Slice } from './json-scanner.ts'
import { countMembers, malformed, parseText } from './json-value.ts'

/** Scanned and parsed in about 3 ms; then other requests get their turn. */
const sliceBytes = 256 * 1024

/**
 * Parses a JSON body without holding up other requests: a long array (the body, or a member of it) is parsed in slices.
 * Refuses, with `malformed-body`, what JSON.parse lets through and a database or a second reader would see differently:
 * invalid UTF-8, NUL and lone surrogates, keys given twice, `__proto__` keys, depth over 32. A number that a double
 * cannot hold as it was written becomes infinite, which no schema accepts.
 */
export async function parseJson(body: Buffer): Promise<unknown> {
  if (!isUtf8(body)) throw malformed('The body is not valid UTF-8.')
  const scanner = new JsonScanner(body, sliceBytes)
  while (scanner.advance(sliceBytes)) await nextTurn()
  if (scanner.slices.length === 0) return parseChecked(body.toString('utf8'), scanner.members)
  const rows: unknown[] = []
  for (const slice of scanner.slices) {
    for (const row of parseSlice(body, slice, rows.length)) rows.push(row)
    await nextTurn()
  }
  return parseAround(body, scanner.slices, scanner.members, rows)
}

function parseChecked(text: string, members: number, offset = 0): unknown {
  const value = parseText(text, offset)
  if (countMembers(value, text.includes('\\')) !== members)
    throw malformed(repeatedKey(value, text))
  return value
}

/** Rows of one slice. It ends at a comma or the bracket, so it has no rows only where a comma stands alone. */
function parseSlice(body: Buffer, { start, end, members }: Slice, firstRow: number): unknown[] {
  const text = `[${body.toString('utf8', start, end)}]`
  const rows = parseText(text, start - 1) as unknown[]
  if (rows.length === 0) throw malformed(`The body is not valid JSON at position ${start}.`)
  if (countMembers(rows, text.includes('\\')) === members) return rows
  throw malformed(repeatedKey(rows, text, firstRow))
}

/** The body with the parsed rows in the place of the array that was sliced. */
function parseAround(body: Buffer, slices: Slice[], members: number, rows: unknown[]): unknown {
  const placeholder = randomUUID()
  const before = body.toString('utf8', 0, slices[0]?.start)
  const after = body.toString('utf8', slices.at(-1)?.end)
  const value = parseChecked(`${before}"${placeholder}"${after}`, members)
  if (Array.isArray(value)) return rows
  const around = value as Record<string, unknown>
  const isPlace = (key: string) => Array.isArray(around[key]) && around[key][0] === placeholder
  return { ...around, [Object.keys(around).find(isPlace) ?? '']: rows }
}

/** Names the first row with a repeated key, where the body is rows. */
function repeatedKey(value: unknown, text: string, firstRow = 0): string {
  const scanner = new JsonScanner(Buffer.from(text), 0)
  scanner.advance(Number.POSITIVE_INFINITY)
  const { slices } = scanner
  const rows = Array.isArray(value) ? value : (value as { payload?: unknown[] }).payload
  const row =
    rows?.length === slices.length
      ? slices.findIndex(({ members }, index) => countMembers(rows[index], false) !== members)
      : -1
  const place = row < 0 ? 'An object of the body' : `Row ${firstRow + row}`
  return `${place} has the same key twice.`
}
