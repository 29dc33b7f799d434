import { setImmediate as nextTurn } from 'node:timers/promises'
import { columnEntries } from '../catalog/column-value.ts'
import type { Columns } from '../catalog/columns.ts'
import { JsonText, type Schemas, Stream } from '../contract/operation.ts'
import { parseMarginFormula } from '../price-lists/margin-formula.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { PromotedPrice, PromotedRow } from '../promotions/promoted-prices.ts'
import { isExact } from './exact-rows.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/** Written in about 3 ms; then other requests get their turn. */
const rowsAtOnce = 2000

export interface PriceRowOptions {
  list: PriceList
  columns: Columns
  include: ReadonlySet<string>
  priceOf: (row: PromotedRow, only?: string) => PromotedPrice
}

/**
 * The rows of a read as the contract shows them: the input keys, the concrete code and extensions, the result fields.
 * `wantedAt` answers the wanted row of a position. Written as text, because an object a row would be made to be written,
 * and sent in pieces, because a million rows are more than one text can hold.
 */
export function priceRows(
  matching: MatchingRow[],
  wantedAt: (position: number) => WantedRow,
  options: PriceRowOptions,
): JsonText | Stream {
  const write = rowWriter(options)
  const textOf = (rows: MatchingRow[]) =>
    rows.map((match) => write(wantedAt(match.position), match)).join(',')
  const rows = matching.length
  if (rows <= rowsAtOnce) return new JsonText(`[${textOf(matching)}]`, rows)
  const pieces = async function* () {
    for (let from = 0; from < rows; from += rowsAtOnce) {
      yield (from === 0 ? '[' : ',') + textOf(matching.slice(from, from + rowsAtOnce))
      await nextTurn()
    }
    yield ']'
  }
  return new Stream('application/json; charset=utf-8', pieces, {}, rows)
}

function rowWriter({ list, columns, include, priceOf }: PriceRowOptions) {
  const [onlyDimension = ''] = list.price_dimensions
  const marginOf = include.has('margin')
    ? parseMarginFormula(list.margin_formula, columns.costs)
    : undefined
  const named = `"price_list_name":${JSON.stringify(list.name)},"price_list_id":${list.id}`
  return (wanted: WantedRow, match: MatchingRow): string => {
    const { row } = wanted
    const { active_price, promotions } = priceOf(
      { ...match, dimension: row.price_dimension ?? onlyDimension },
      row.promotion,
    )
    const head = JSON.stringify(isWhole(wanted) ? row : concrete(row, match, columns)).slice(0, -1)
    const ids = `"extended_catalog_id":${match.product_id},"pk":${match.id}`
    const promoted = promotions.length === 0 ? '[]' : JSON.stringify(promotions)
    const extras = {
      ...(include.has('base_price') && { base_price: match.price }),
      ...(marginOf && { margin: marginOf(match.price, match.costs ?? []) }),
      ...(include.has('dynamic_attributes') && {
        dynamic_attributes: match.dynamic_attributes ?? {},
      }),
    }
    const more = include.size === 0 ? '' : `,${JSON.stringify(extras).slice(1, -1)}`
    return `${head},${named},${ids},"active_price":${active_price},"promotions":${promoted}${more}}`
  }
}

/** Whether the input row has its code and all extensions beside it already. */
function isWhole(wanted: WantedRow): boolean {
  return wanted.row.extensions === undefined && isExact(wanted)
}

function concrete(
  row: Schemas['GetPricesRow'],
  match: MatchingRow,
  columns: Columns,
): Record<string, unknown> {
  const extensions = Object.fromEntries(columnEntries(columns.extensions, match.extensions))
  return { ...row, code: match.code, ...extensions }
}
