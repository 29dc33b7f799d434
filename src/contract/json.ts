import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { yieldToEventLoop } from '../lib/cooperative.ts'
import { diagnose } from './json-diagnosis.ts'
import { JsonScanner, type Slice, withExactNumbers } from './json-scanner.ts'
import { Problem } from './problem.ts'
import { pointerSegment } from './row-errors.ts'
import { locate, rowsPointer } from './validation-errors.ts'
import { countMembers, repeatedKey, ValueFault } from './value-faults.ts'

/** Scanned and parsed in about 2 ms; then other requests run. */
const sliceBytes = 128 * 1024

/** An object or array takes up to 270 bytes of memory, about as much as 64 bytes of other text, which take 4 each. */
const containerBytes = 64

/** Editors on Windows write it. It is invisible, so "not valid at byte 0" would not help. */
const byteOrderMark = Buffer.from('\ufeff')

export interface Room {
  /** The most objects and arrays in a body. */
  containersMax: number
  /** Called before parsing with the size that the body counts for; throws if there is no room. */
  reserve: (bytes: number) => void
}

/**
 * Parses a JSON body without blocking other requests: a long array (the body or a member of it) is parsed in slices.
 * Throws `malformed-body` for invalid JSON and for what JSON.parse allows but a database or another parser would see
 * differently: invalid UTF-8, NUL, lone surrogates, repeated keys, `__proto__`, depth over 32; also for more than
 * 10,000 keys in an object and 500,000 values in a row. More than `containersMax` containers are `payload-too-large`. A
 * number that a double cannot hold as written becomes infinite, which no schema accepts.
 */
export async function parseJson(body: Buffer, room: Room): Promise<unknown> {
  const json = await parseRows(body, room)
  return json instanceof SlicedJson ? json.value() : json
}

/** Like `parseJson`, but returns a long array as a SlicedJson, whose rows are parsed while earlier ones are written. */
export async function parseRows(body: Buffer, { containersMax, reserve }: Room): Promise<unknown> {
  if (!isUtf8(body)) throw malformed('The body is not valid UTF-8.')
  if (body.subarray(0, 3).equals(byteOrderMark))
    throw malformed('The body begins with a byte order mark, which JSON has not: send it without.')
  const scanner = new JsonScanner(body, sliceBytes, containersMax)
  while (scanner.advance(sliceBytes)) await yieldToEventLoop()
  const { slices, members, containers, fault } = scanner
  if (fault) throw new Problem(fault.type, fault.detail)
  reserve(Math.max(body.length, containers * containerBytes))
  if (slices.length === 0) return parseWhole(body.toString('utf8'), members, lineAndColumn)
  const json = new SlicedJson(body, slices, members)
  return json.isArray ? json : json.value()
}

/** A body with a long array, scanned but not yet parsed. */
export class SlicedJson {
  readonly #body: Buffer
  readonly #slices: Slice[]
  readonly #members: number

  /** `members` are those outside the slices. */
  constructor(body: Buffer, slices: Slice[], members: number) {
    this.#body = body
    this.#slices = slices
    this.#members = members
  }

  get bytes(): number {
    return this.#body.length
  }

  /** The number of items of the array. */
  get rows(): number {
    return this.#slices.reduce((rows, slice) => rows + slice.rows, 0)
  }

  /** Whether the body is the array itself. */
  get isArray(): boolean {
    return /^\s*\[/.test(this.#body.toString('latin1', 0, this.#slices[0]?.start))
  }

  /** Parses the items slice by slice; other requests run in between. Throws `malformed-body`. */
  async *rowSlices(): AsyncGenerator<unknown[]> {
    let firstRow = 0
    for (const slice of this.#slices) {
      const rows = parseSlice(this.#body, slice, firstRow, () => this.#around())
      yield rows
      firstRow += rows.length
      await yieldToEventLoop()
    }
    this.#around()
  }

  async value(): Promise<unknown> {
    const rows: unknown[] = []
    for await (const slice of this.rowSlices()) for (const row of slice) rows.push(row)
    const { value, key } = this.#around()
    return key === undefined ? rows : { ...(value as object), [key]: rows }
  }

  #around(): Around {
    return parseAround(this.#body, this.#slices, this.#members)
  }
}

/** `placeOf` describes the position of a fault, given its index. */
function parseWhole(
  text: string,
  members: number,
  placeOf: (index: number, text: string) => string,
): unknown {
  const value = parseText(text)
  if (value === undefined)
    throw malformed(`The body is not valid JSON at ${placeOf(diagnose(text).brokenAt, text)}.`)
  const fault = findFault(value, text, members)
  if (fault) throw faultyValue(fault, rowsPointer(value))
  return value
}

/** The first fault of a value that was read from `text`, in which as many members are written. */
function findFault(value: unknown, text: string, members: number): ValueFault | undefined {
  const counted = countMembers(value, text.includes('\\'))
  if (counted instanceof ValueFault) return counted
  return counted === members
    ? undefined
    : new ValueFault(repeatedKey.reason, diagnose(text).repeatedKey)
}

function lineAndColumn(index: number, text: string): string {
  const before = text.slice(0, index)
  let line = 1
  for (let end = before.indexOf('\n'); end >= 0; end = before.indexOf('\n', end + 1)) line++
  return `position ${index} (line ${line} column ${index - before.lastIndexOf('\n')})`
}

/** The rows of a slice. It ends at a comma or bracket, so it is empty only before a stray comma. */
function parseSlice(
  body: Buffer,
  { start, end, members }: Slice,
  firstRow: number,
  around: () => Around,
): unknown[] {
  const text = `[${body.toString('utf8', start, end)}]`
  const rows = parseText(text) as unknown[] | undefined
  if (rows === undefined || rows.length === 0) {
    const fault = Math.min(diagnose(text).brokenAt, text.length - 1)
    const position = start + Buffer.byteLength(text.slice(1, fault))
    throw malformed(`The body is not valid JSON at byte ${position}.`)
  }
  const fault = findFault(rows, text, members)
  if (!fault) return rows
  const [, row = '0', rest = ''] = /^\/(\d+)(.*)$/s.exec(fault.pointer) ?? []
  const { value, key } = around()
  const array = key === undefined ? '' : `/${pointerSegment(key)}`
  const pointer = `${array}/${Number(row) + firstRow}${rest}`
  throw faultyValue(new ValueFault(fault.reason, pointer), rowsPointer(value))
}

/** The body around the sliced array, which has one item here. */
interface Around {
  value: unknown
  /** The key of the array; undefined if it is the body itself. */
  key: string | undefined
}

function parseAround(body: Buffer, slices: Slice[], members: number): Around {
  const end = slices.at(-1)?.end ?? 0
  const item = randomUUID()
  const before = `${body.toString('utf8', 0, slices[0]?.start)}"${item}"`
  const place = (index: number, text: string) => {
    const isBehind = index >= before.length
    const bytes = Buffer.byteLength(text.slice(isBehind ? before.length : 0, index))
    return `byte ${isBehind ? end + bytes : bytes}`
  }
  const value = parseWhole(`${before}${body.toString('utf8', end)}`, members, place)
  if (Array.isArray(value)) return { value, key: undefined }
  const isArray = ([, of]: [string, unknown]) => Array.isArray(of) && of[0] === item
  return { value, key: Object.entries(value as object).find(isArray)?.[0] }
}

function faultyValue(
  { pointer, reason: message }: ValueFault,
  rowsAt: string | undefined,
): Problem {
  const error = { pointer, code: 'not_allowed', message } as const
  return new Problem('malformed-body', `${message}${pointer && `, at ${pointer}`}.`, {
    errors: [locate(error, rowsAt)],
  })
}

/** JSON.parse after `withExactNumbers`; undefined for invalid JSON. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(withExactNumbers(text))
  } catch {
    return undefined
  }
}

/** Parses a line or a cell by the rules of a body. Returns a ValueFault for a breach, undefined for invalid JSON. */
export function parseShort(text: string): unknown {
  const value = parseText(text)
  if (typeof value !== 'object' && typeof value !== 'string') return value
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(bytes, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  scanner.advance(bytes.length)
  if (scanner.fault) return new ValueFault(scanner.fault.detail)
  const members = countMembers(value, text.includes('\\'))
  if (members instanceof ValueFault) return members
  return members === scanner.members ? value : repeatedKey
}

function malformed(detail: string): Problem {
  return new Problem('malformed-body', detail)
}
