import { type RawBuilder, sql } from 'kysely'
import type { Column, Columns } from '../../catalog/columns.ts'
import { readCopyLine } from '../../database/copy.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import type { ClientPrices } from './client-prices.ts'
import type { Extras, MatchingRow } from './matching-rows.ts'
import { namedList, openKeys, type WritePriceRow } from './price-rows.ts'
import type { Pricing } from './pricing.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A read whose rows arrive as lines of COPY text. */
export interface CopiedRead {
  pricing: Pricing
  client: ClientPrices | undefined
  wanted: WantedRow[]
  extras: Extras
  write: WritePriceRow
  /** Whether rows show nothing but their keys, ids and price. */
  isBare: boolean
}

/** Writes whole lines as JSON rows, separated by commas. */
type WriteLines = (lines: string) => WrittenLines

interface WrittenLines {
  text: string
  rows: number
}

/** Each line is checked against the day's promotions and the price lines: this many checks take a few milliseconds. */
const checksAtOnce = 20_000

/** Returns a function that writes the lines of a read as JSON, in parts of a few milliseconds. */
export function linesWriter(read: CopiedRead): (lines: string) => Iterable<WrittenLines> {
  const write = someLinesWriter(read)
  const { pricing, client } = read
  const checks = 1 + pricing.promotions.names.size + (client?.agreed.lookUps ?? 0)
  const linesMax = Math.floor(checksAtOnce / checks)
  return function* (lines) {
    for (const some of splitLines(lines, Math.max(1, linesMax))) yield write(some)
  }
}

function someLinesWriter(read: CopiedRead): WriteLines {
  const writeMatches = matchesWriter(read)
  if (!read.isBare) return writeMatches
  const writeBare = bareLinesWriter(read)
  return (lines) => (isEscaped.test(lines) ? writeMatches(lines) : writeBare(lines))
}

/** Parts of at most `linesMax` lines. */
function* splitLines(lines: string, linesMax: number): Generator<string> {
  for (let from = 0; from < lines.length; ) {
    let to = from
    for (let count = 0; count < linesMax && to < lines.length; count++)
      to = lines.indexOf('\n', to) + 1
    yield lines.slice(from, to)
    from = to
  }
}

function matchesWriter({ pricing, wanted, extras, write }: CopiedRead): WriteLines {
  const readMatch = matchReader(pricing.columns, extras)
  return (lines) => {
    const rows = lines
      .slice(0, -1)
      .split('\n')
      .map((line) => {
        const match = readMatch(line)
        return write(wanted[match.at] as WantedRow, match)
      })
      .filter((text) => text !== '')
    return { text: rows.join(','), rows: rows.length }
  }
}

/** What COPY or JSON escapes, except tabs and newlines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const isEscaped = /[\\"\u0000-\u0008\u000b-\u001f]/

/** A field of a line, and the text before it in the row. */
interface Part {
  before: string
  field: number
}

/**
 * Writes bare rows from lines without escapes: fields are copied verbatim. An object for each line would take three
 * times as long.
 */
function bareLinesWriter({ pricing: { list, columns }, wanted }: CopiedRead): WriteLines {
  const partsOf = wanted.map((row) => partsOfRow(list, columns, row))
  const fields: string[] = new Array(copiedPlaces.code + 1 + columns.extensions.length).fill('')
  return (lines) => {
    let text = ''
    let rows = 0
    for (let from = 0; from < lines.length; rows++) {
      from = readFields(lines, from, fields)
      if (rows > 0) text += ','
      for (const { before, field } of partsOf[Number(fields[0])] ?? [])
        text += before + fields[field]
      text += ',"promotions":[]}'
    }
    return { text, rows }
  }
}

/** Reads the fields of the line at `from`; returns where the next line begins. */
function readFields(lines: string, from: number, fields: string[]): number {
  const last = fields.length - 1
  let start = from
  for (let field = 0; field <= last; field++) {
    const end = lines.indexOf(field === last ? '\n' : '\t', start)
    fields[field] = lines.slice(start, end)
    start = end + 1
  }
  const price = fields[copiedPlaces.price] as string
  if (price.endsWith('0')) fields[copiedPlaces.price] = String(Number(price))
  return start
}

function partsOfRow(list: PriceList, { extensions }: Columns, row: WantedRow): Part[] {
  const { head, lacking } = openKeys(row, extensions)
  const parts: Part[] = []
  let before = head
  for (const { prefix, type, place } of lacking) {
    const quote = type === 'string' || type === 'date' ? '"' : ''
    parts.push({ before: `${before}${prefix}${quote}`, field: copiedPlaces.code + place })
    before = quote
  }
  return [
    ...parts,
    {
      before: `${before},${namedList(list)},"extended_catalog_id":`,
      field: copiedPlaces.product_id,
    },
    { before: ',"pk":', field: copiedPlaces.id },
    { before: ',"active_price":', field: copiedPlaces.price },
  ]
}

/** Places of the fields that every line has; the extensions follow the code. */
const copiedPlaces = { at: 0, product_id: 1, id: 2, price: 3, code: 4 }

/** SQL of the fields of a line; each array item is a field of its own. */
export function copiedFields(columns: Columns, extras: Extras): RawBuilder<unknown> {
  return sql.join([
    ...Object.keys(copiedPlaces).map((name) => sql.ref(name)),
    ...items('extensions', columns.extensions),
    ...(extras.costs ? items('costs', columns.costs) : []),
    ...(extras.attributes ? items('attributes', columns.attributes) : []),
    ...(extras.dynamicAttributes ? [sql.ref('dynamic_attributes')] : []),
    ...(extras.priced ? [sql.ref('is_priced')] : []),
  ])
}

function items(name: string, columns: Column[]): RawBuilder<unknown>[] {
  return columns.map(({ ordinal }) => sql`${sql.ref(name)}[${ordinal}::integer]`)
}

/** Returns a function that reads a line of `copiedFields`. */
function matchReader(columns: Columns, extras: Extras): (line: string) => MatchingRow {
  const { extensions, costs, attributes } = columns
  const { at, product_id, id, price, code } = copiedPlaces
  const costsAt = code + 1 + extensions.length
  const attributesAt = costsAt + (extras.costs ? costs.length : 0)
  const dynamicAt = attributesAt + (extras.attributes ? attributes.length : 0)
  const pricedAt = dynamicAt + (extras.dynamicAttributes ? 1 : 0)
  return (line) => {
    const fields = readCopyLine(line)
    const match: MatchingRow = {
      at: Number(fields[at]),
      product_id: Number(fields[product_id]),
      id: Number(fields[id]),
      price: Number(fields[price]),
      code: fields[code] as string,
      extensions: fields.slice(code + 1, costsAt) as string[],
    }
    if (extras.costs) match.costs = fields.slice(costsAt, attributesAt).map(numberOrNull)
    if (extras.attributes) match.attributes = fields.slice(attributesAt, dynamicAt)
    if (extras.priced) match.is_priced = fields[pricedAt] === 't'
    if (extras.dynamicAttributes) match.dynamic_attributes = JSON.parse(fields[dynamicAt] ?? 'null')
    return match
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text)
}
