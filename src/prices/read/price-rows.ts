import { readValue } from '../../catalog/column-value.ts'
import type { Columns, ColumnType } from '../../catalog/columns.ts'
import type { Answer, JsonText, Stream } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { mapCooperatively } from '../../lib/cooperative.ts'
import { parseMarginFormula } from '../../price-lists/margin-formula.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import type { Explain } from './explain.ts'
import type { FindLowest } from './lowest-price.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { FindCompetition, FindSales } from './position.ts'
import { type PricedRow, type RowPricing, rowPricer } from './priced-row.ts'
import { isExact, type WantedRow } from './wanted-rows.ts'

/** What was loaded besides the rows, for fields of `include`. */
export interface LookUp {
  explain?: Explain
  findLowest?: FindLowest
  findCompetition?: FindCompetition
  findSales?: FindSales
}

interface PriceRowOptions extends LookUp, RowPricing {
  columns: Columns
  include: ReadonlySet<string>
}

/** The response to a read, with the revision that it shows. */
export type PricesRead = Answer<JsonText | Stream>

export type WritePriceRow = (wanted: WantedRow, match: MatchingRow) => string

/**
 * Returns a function that writes a row of the response as JSON: the input keys, the code and extensions that they leave
 * open, the results; '' for a hidden row. It builds text, because an object for each row would only be serialized.
 */
export function priceRowWriter(options: PriceRowOptions): WritePriceRow {
  const { list, columns, include } = options
  const named = namedList(list)
  const priced = rowPricer(options)
  const writeKeys = keysWriter(columns)
  const writeExtras = include.size === 0 ? () => '' : extrasWriter(options)
  const hidesUnagreed = list.hide_unpriced && options.client !== undefined
  return (wanted, match) => {
    const row = priced(wanted, match)
    const { active_price, promotions, agreement } = row
    if (hidesUnagreed && match.is_priced === false && !agreement) return ''
    const promoted = promotions.length === 0 ? '[]' : JSON.stringify(promotions)
    const agreed = agreement === undefined ? '' : `,"agreement":${JSON.stringify(agreement)}`
    const ids = `"extended_catalog_id":${match.product_id},"pk":${match.id}`
    const prices = `"active_price":${active_price},"promotions":${promoted}${agreed}`
    return `${writeKeys(wanted, match)},${named},${ids},${prices}${writeExtras(row)}}`
  }
}

/** JSON of the fields that name the list, without braces. */
export const namedList = ({ name, id }: PriceList): string =>
  `"price_list_name":${JSON.stringify(name)},"price_list_id":${id}`

type WriteKeys = (wanted: WantedRow, match: MatchingRow) => string

/** Writes the input keys, then the code and extensions that they leave open. */
function keysWriter({ extensions }: Columns): WriteKeys {
  // A wildcard has many rows: their common part is written once.
  const open = new Map<WantedRow, (match: MatchingRow) => string>()
  return (wanted, match) => {
    if (wanted.row.extensions === undefined && isExact(wanted))
      return JSON.stringify(wanted.row).slice(0, -1)
    const write = open.get(wanted) ?? openKeysWriter(wanted, extensions)
    open.set(wanted, write)
    return write(match)
  }
}

function openKeysWriter(
  wanted: WantedRow,
  extensions: Columns['extensions'],
): (match: MatchingRow) => string {
  const { head, lacking } = openKeys(wanted, extensions)
  return ({ code, extensions }) => {
    let keys = head
    for (const { prefix, type, place } of lacking)
      keys += prefix + JSON.stringify(readValue(type, [code, ...extensions][place] as string))
    return keys
  }
}

/**
 * A key that an input row leaves open: the text before its value, and the index of the value among code and extensions.
 */
interface OpenKey {
  prefix: string
  type: ColumnType
  place: number
}

/** The keys of a row in the response: those of the input row, then the open ones. */
export function openKeys(
  { row }: WantedRow,
  extensions: Columns['extensions'],
): { head: string; lacking: OpenKey[] } {
  const head = JSON.stringify(row).slice(0, -1)
  const lacking = [{ name: 'code', type: 'string' as const }, ...extensions]
    .map(({ name, type }, place) => ({ name, type, place }))
    .filter(({ name }) => !Object.hasOwn(row, name))
    .map(({ name, type, place }, index) => ({
      type,
      place,
      prefix: `${index === 0 && head === '{' ? '' : ','}${JSON.stringify(name)}:`,
    }))
  return { head, lacking }
}

type WriteExtras = (priced: PricedRow) => string

/** Writes the fields of `include`, each after a comma. */
function extrasWriter(options: PriceRowOptions): WriteExtras {
  const { list, columns, include, explain, findLowest, findCompetition, findSales } = options
  const marginFor = (field: string) =>
    include.has(field) ? parseMarginFormula(list.margin_formula, columns.costs) : undefined
  const marginOf = marginFor('margin')
  const activeMarginOf = marginFor('active_margin')
  return (priced) => {
    const { match, active_price } = priced
    const { price, costs, dynamic_attributes, is_priced } = match
    const extras = {
      ...(include.has('base_price') && { base_price: price }),
      ...(marginOf && { margin: marginOf(price, costs ?? []) }),
      ...(activeMarginOf && { active_margin: activeMarginOf(active_price, costs ?? []) }),
      ...(include.has('priced') && { priced: is_priced === true }),
      ...(explain && { explain: explain(priced) }),
      ...(findLowest && { lowest_price: findLowest(match) }),
      ...(findCompetition && { competition: findCompetition(priced) }),
      ...(findSales && { sales: findSales(match) }),
      ...(include.has('dynamic_attributes') && { dynamic_attributes: dynamic_attributes ?? {} }),
    }
    return `,${JSON.stringify(extras).slice(1, -1)}`
  }
}

/** Rows of a response as JSON, in pieces without the surrounding brackets and commas. */
export interface RowTexts {
  /** The list's revision when the rows were read. */
  revision: number
  texts: string[]
  rows: number
}

/** Longer responses are streamed: 100,000 rows with 100 promotions each would be 400 MB. */
const heldLengthMax = 64_000_000

/** Writes rows of a response that is held in memory, and stops when it is too long. */
export class HeldRows {
  readonly #write: WritePriceRow
  #length = 0

  constructor(write: WritePriceRow) {
    this.#write = write
  }

  get areTooLong(): boolean {
    return this.#length > heldLengthMax
  }

  /** Writes rows as JSON with commas between them. */
  async write(wanted: WantedRow[], found: MatchingRow[]): Promise<string> {
    const rows = await mapCooperatively(found, (match) =>
      this.#writeRow(wanted[match.at] as WantedRow, match),
    )
    return rows.filter((text) => text !== '').join(',')
  }

  #writeRow(wanted: WantedRow, match: MatchingRow): string {
    if (this.areTooLong) return ''
    const text = this.#write(wanted, match)
    this.#length += text.length
    return text
  }
}

/** Throws `result-too-large` if a read has more rows than `rowsMax`. */
export function rejectTooLarge(size: number, rowsMax: number): void {
  if (size <= rowsMax) return
  const detail = `A read expands to at most ${rowsMax} rows, this one to ${size}. Name more of code, extensions and attributes.`
  throw new Problem('result-too-large', detail)
}
