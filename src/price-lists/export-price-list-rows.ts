import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import type { Export, OpenExport } from '../contract/export.ts'
import type { OperationRequest } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { isInCalendar } from './calendar.ts'
import { revisionHeader } from './history/record-revision.ts'
import { attributesOfRow, joinProducts, pricesOf } from './list-rows.ts'
import { parseMarginFormula } from './margin-formula.ts'
import { type Cell, positionColumns, positionReader, withPositions } from './position-fields.ts'
import { findPriceList, ofList, type PriceList } from './queries.ts'
import { type OrderedListRows, orderedRows, type SelectedRows } from './row-order.ts'
import { type ListedRow, rowKey, type ShownRows, shownRows } from './shown-rows.ts'

/**
 * Exports the rows of a list, by id or in the requested order: one line per price or dynamic attribute of the published
 * or a past version, in the format that can be loaded again, or one per row of the draft. A calendar list without
 * `date` gives every day that has a price.
 */
export const exportPriceListRows: Export<'listPriceListRows'> = async (
  trx,
  { account, params, query },
) => {
  const list = await findPriceList(trx, account, { id: params.id })
  const shown = await shownRows(trx, list, query)
  return { ...(await linesOf(trx, shown, query)), headers: revisionHeader(shown.revision) }
}

type Query = OperationRequest<'listPriceListRows'>['query']

// biome-ignore lint/suspicious/noExplicitAny: each kind of line has its own stored rows.
async function linesOf(trx: Trx, shown: ShownRows, query: Query): Promise<OpenExport<any>> {
  const { list, columns, position } = shown
  const key = keyColumns(columns)
  const ordered = await orderedRows(trx, shown, query)
  if (shown.version === 'draft') {
    const rows = selected(shown, { prices: sql`'{}'::numeric[]` })
    return {
      columns: key,
      query: ordered.inOrder(rows),
      rowsOf: (row: ListedRow) => [rowKey(row, columns)],
    }
  }
  if (query.lines === 'dynamic_attributes') return attributeLines(shown, ordered)
  const isWhole = list.is_calendar && query.date === undefined
  const date = list.is_calendar ? ['date'] : []
  const cellsOf = isWhole ? daysOf(list) : dimensionsOf(shown.date)
  const read = position && (await positionReader(trx, list, columns, position))
  const line = lineWriter(shown)
  return {
    columns: [
      ...[...key, 'price_dimension', ...date, 'price', 'priced', ...marginOf(shown)],
      ...(position ? positionColumns(position) : []),
    ],
    query: isWhole
      ? ordered.inOrder(selectMonths(shown), 'dimension', 'month')
      : ordered.inOrder(selected(shown, { prices: pricesOf(list, shown.rows, shown.date) })),
    ...(read && { complete: (rows: Month[]) => withPositions(rows, cellsOf, read) }),
    rowsOf: (row: Month) =>
      cellsOf(row).map((cell, place) => ({ ...line(row, cell), ...row.positions?.[place] })),
  }
}

/** Costs have no history, so past prices have no margin. */
const marginOf = ({ version }: ShownRows): string[] => (version === 'past' ? [] : ['margin'])

/** The prices of a month; `month` is null for a row without prices. */
interface Month extends ListedRow {
  prices: (number | null)[] | null
  dimension: number | null
  month: string | null
}

interface AttributeOfRow extends ListedRow {
  name: string
  value: unknown
}

/** SQL with a row for each month that has prices, and one for each row without any. */
function selectMonths(shown: ShownRows): SelectedRows {
  const { list, rows } = shown
  const months = sql`
    left join ${rows.fromMonths} on ${ofList(list, 'm')}
      and m.row_id = r.id and array_remove(m.prices, null) <> '{}'`
  const fields = { prices: sql`m.prices`, dimension: sql`m.dimension`, month: sql`m.month` }
  return selected(shown, fields, months)
}

function attributeLines(shown: ShownRows, { inOrder }: OrderedListRows): OpenExport {
  const { columns } = shown
  const attributes = sql`cross join lateral jsonb_each(r.dynamic_attributes) d`
  const fields = { name: sql`d.key collate "C"`, value: sql`d.value` }
  return {
    columns: [...keyColumns(columns), 'dynamic_attribute_name', 'dynamic_attribute_value'],
    valueColumn: 'dynamic_attribute_value',
    query: inOrder(selected(shown, fields, attributes), 'name'),
    rowsOf: (row) => {
      const { name, value, ...rest } = row as AttributeOfRow
      const attribute = { dynamic_attribute_name: name, dynamic_attribute_value: value }
      return [{ ...rowKey(rest, columns), ...attribute }]
    },
  }
}

/** SQL of each row with these fields beside the common ones. */
function selected(
  { list, rows, position }: ShownRows,
  fields: Readonly<Record<string, RawBuilder<unknown>>>,
  joined: RawBuilder<unknown> = sql``,
): SelectedRows {
  const all = {
    id: sql`r.id`,
    product_id: sql`r.product_id`,
    code: sql`r.code`,
    extensions: sql`r.extensions`,
    costs: sql`p.costs`,
    ...(position && { attributes: sql`pa.attributes` }),
    ...fields,
  }
  const written = Object.entries(all).map(([name, field]) => sql`${field} as ${sql.ref(name)}`)
  return {
    fields: sql.join(written),
    names: Object.keys(all),
    from: sql`${rows.fromAll}
      ${joinProducts(list)}
      ${position ? attributesOfRow(list).join : sql``} ${joined}`,
  }
}

function keyColumns({ extensions }: Columns): string[] {
  return ['pk', 'extended_catalog_id', 'code', ...extensions.map(({ name }) => name)]
}

type CellsOf = (row: Month) => Cell[]

const dimensionsOf =
  (date: string | undefined): CellsOf =>
  ({ prices }) =>
    (prices ?? []).map((price, index) => ({ index, date, price }))

/** A row without prices appears unpriced on the first day, so that it is not lost. */
function daysOf({ valid_from }: PriceList): CellsOf {
  return ({ month, dimension, prices }) => {
    if (month === null || dimension === null) return [{ index: 0, date: valid_from, price: null }]
    return (prices ?? []).flatMap((price, index) => {
      const date = `${month.slice(0, 8)}${String(index + 1).padStart(2, '0')}`
      const isHeld = price !== null && isInCalendar(date, valid_from)
      return isHeld ? [{ index: dimension - 1, date, price }] : []
    })
  }
}

function lineWriter({ list, version, columns }: ShownRows) {
  const margin = parseMarginFormula(list.margin_formula, columns.costs)
  return (row: ListedRow, { index, date, price }: Cell): object => ({
    ...rowKey(row, columns),
    price_dimension: list.price_dimensions[index],
    ...(date !== undefined && { date }),
    price: price ?? 0,
    priced: price !== null,
    ...(version !== 'past' && { margin: margin(price ?? 0, row.costs) }),
  })
}
