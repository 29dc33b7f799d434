import { type RawBuilder, sql } from 'kysely'
import { readOrderedPage } from '../contract/list-order.ts'
import { Answer, transaction } from '../contract/operation.ts'
import { onPage } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { revisionHeader } from './history/record-revision.ts'
import { attributesOfRow, joinProducts, pricesOf } from './list-rows.ts'
import { parseMarginFormula } from './margin-formula.ts'
import { type Position, positionReader, withPositions } from './position-fields.ts'
import { findPriceList, ofList, type PriceList } from './queries.ts'
import { orderedRows } from './row-order.ts'
import { type ListedRow, type RowsQuery, rowKey, type ShownRows, shownRows } from './shown-rows.ts'

/**
 * One page of a list's rows. Published rows have prices, margins and dynamic attributes, past rows only prices, draft
 * rows none of these.
 */
export const listPriceListRows = transaction<'listPriceListRows'>(
  async (trx, { account, params, query }) => {
    const list = await findPriceList(trx, account, { id: params.id })
    const shown = await shownRows(trx, list, query)
    const { columns } = shown
    const { count, rows } = await findPage(trx, shown, query)
    const show = shown.version === 'draft' ? () => ({}) : publishedFields(shown)
    const positioned = await addPositions(trx, shown, rows)
    const results = await mapCooperatively(positioned, (row) => ({
      ...rowKey(row, columns),
      ...show(row),
    }))
    return new Answer({ count, results }, revisionHeader(shown.revision))
  },
)

/** Adds the position of each price, if requested. */
async function addPositions(
  trx: Trx,
  { list, columns, date, position }: ShownRows,
  rows: StoredRow[],
): Promise<StoredRow[]> {
  if (!position) return rows
  const read = await positionReader(trx, list, columns, position)
  const cellsOf = ({ prices }: StoredRow) => prices.map((price, index) => ({ index, date, price }))
  return withPositions(rows, cellsOf, read)
}

interface StoredRow extends ListedRow {
  /** null where none was set. */
  prices: (number | null)[]
  dynamic_attributes: Record<string, unknown> | null
}

/** Count and rows come from the same publication. */
async function findPage(trx: Trx, shown: ShownRows, query: RowsQuery) {
  const { list, rows, version, date, position, isNarrowed } = shown
  const ordered = await orderedRows(trx, shown, query)
  const page = sql<StoredRow>`
    select r.id, r.product_id, r.code, r.extensions, ${pricesOf(list, rows, date)} as prices,
      ${version === 'past' ? sql`null` : sql`r.dynamic_attributes`} as dynamic_attributes, p.costs
      ${position ? attributesOfRow(list).field : sql``}
    from ${rows.from}
    ${joinProducts(list)}
    ${position ? attributesOfRow(list).join : sql``}
    where ${ofList(list, 'r')} and ${rows.isMember} and r.id = ${onPage}`
  const isKnown = version === 'published' && !isNarrowed
  const counted = isKnown ? { ...ordered, count: rowCount(list) } : ordered
  return readOrderedPage(trx, counted, query, page)
}

/** SQL of the stored number of published rows: counting them would take as long as sorting them. */
function rowCount({ account_id, id }: PriceList): RawBuilder<number> {
  return sql`(select row_count from price_lists where account_id = ${account_id} and id = ${id})`
}

function publishedFields({ list, columns, version }: ShownRows): (row: StoredRow) => object {
  const pricesOfRow = (row: StoredRow) =>
    list.price_dimensions.map((name, index) => [name, row.prices[index] ?? 0] as const)
  if (version === 'past') return (row) => ({ prices: Object.fromEntries(pricesOfRow(row)) })
  const marginOf = parseMarginFormula(list.margin_formula, columns.costs)
  return (row: StoredRow) => {
    const byDimension = pricesOfRow(row)
    return {
      prices: Object.fromEntries(byDimension),
      margin: Object.fromEntries(
        byDimension.map(([name, price]) => [name, marginOf(price, row.costs)]),
      ),
      dynamic_attributes: row.dynamic_attributes ?? {},
      ...positionByDimension(list, row),
    }
  }
}

function positionByDimension({ price_dimensions }: PriceList, { positions }: StoredRow): object {
  const [first] = positions ?? []
  const fields = Object.keys(first ?? {}) as (keyof Position)[]
  const ofField = (field: keyof Position) =>
    price_dimensions.map((name, index) => [name, positions?.[index]?.[field]])
  return Object.fromEntries(fields.map((field) => [field, Object.fromEntries(ofField(field))]))
}
