import { type RawBuilder, sql } from 'kysely'
import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import type { Export, OpenExport } from '../contract/export.ts'
import { isInCalendar } from './calendar.ts'
import {
  attributesOfRow,
  pricesOf,
  readDate,
  type ShownRows,
  shownRows,
} from './list-price-list-rows.ts'
import { parseMarginFormula } from './margin-formula.ts'
import {
  type Cell,
  type Position,
  positionColumns,
  positionReader,
  withPositions,
} from './position-fields.ts'
import { findPriceList, type PriceList } from './queries.ts'

/**
 * The rows of a list by id: a line for each price or dynamic attribute of the published version, in the form in which
 * they are loaded, or for each row of the draft. A calendar list without `date` gives all days that have a price.
 */
export const exportPriceListRows: Export<'listPriceListRows'> = async (
  trx,
  { account, params, query },
) => {
  const list = await findPriceList(trx, account, { id: params.id })
  const day = readDate(list, query.date)
  const columns = await findColumns(trx, account)
  const key = keyColumns(columns)
  const shown = await shownRows(trx, list, query)
  if (shown.version === 'draft') {
    const rows = selectRows(shown, sql`'{}'::numeric[]`)
    return { columns: key, query: rows, rowsOf: (row: Row) => [keyOf(row, columns)] }
  }
  if (query.lines === 'dynamic_attributes') return attributeLines(shown, columns)
  const isWhole = list.is_calendar && query.date === undefined
  const date = list.is_calendar ? ['date'] : []
  const { position } = shown
  const cellsOf = isWhole ? daysOf(list) : dimensionsOf(day)
  const read = position && (await positionReader(trx, list, columns, position))
  const line = lineWriter(shown, columns)
  return {
    columns: [
      ...[...key, 'price_dimension', ...date, 'price', 'priced', ...marginOf(shown)],
      ...(position ? positionColumns(position) : []),
    ],
    query: isWhole ? selectMonths(shown) : selectRows(shown, pricesOf(list, shown.rows, day)),
    ...(read && { complete: (rows: Month[]) => withPositions(rows, cellsOf, read) }),
    rowsOf: (row: Month) =>
      cellsOf(row).map((cell, place) => ({ ...line(row, cell), ...row.positions?.[place] })),
  }
}

/** Costs have no history, and so no margin. */
const marginOf = ({ version }: ShownRows): string[] => (version === 'past' ? [] : ['margin'])

interface Row {
  id: number
  product_id: number
  code: string
  extensions: string[]
  costs: (number | null)[]
  prices: (number | null)[] | null
  attributes?: (string | null)[] | null
  positions?: Position[]
}

/** The prices of a month; `month` is null for a row without prices. */
interface Month extends Row {
  dimension: number | null
  month: string | null
}

interface AttributeOfRow extends Row {
  name: string
  value: unknown
}

function fieldsOf({ list, position }: ShownRows): RawBuilder<unknown> {
  const attributes = position ? attributesOfRow(list).field : sql``
  return sql`r.id, r.product_id, r.code, r.extensions, p.costs ${attributes}`
}

function selectRows(shown: ShownRows, prices: RawBuilder<unknown>): RawBuilder<Row> {
  return sql`select ${fieldsOf(shown)}, ${prices} as prices ${membersOf(shown)} order by r.id`
}

function selectMonths(shown: ShownRows): RawBuilder<Month> {
  const { list, rows } = shown
  const months = sql`
    left join ${rows.fromMonths} on m.account_id = ${list.account_id} and m.price_list_id = ${list.id}
      and m.row_id = r.id and array_remove(m.prices, null) <> '{}'`
  return sql`
    select ${fieldsOf(shown)}, m.prices, m.dimension, m.month ${membersOf(shown, months)}
    order by r.id, m.dimension, m.month`
}

function attributeLines(shown: ShownRows, columns: Columns): OpenExport<AttributeOfRow> {
  const attributes = sql`cross join lateral jsonb_each(r.dynamic_attributes) a`
  return {
    columns: [...keyColumns(columns), 'dynamic_attribute_name', 'dynamic_attribute_value'],
    valueColumn: 'dynamic_attribute_value',
    query: sql`
      select ${fieldsOf(shown)}, a.key as name, a.value ${membersOf(shown, attributes)}
      order by r.id, a.key collate "C"`,
    rowsOf: ({ name, value, ...row }) => {
      const attribute = { dynamic_attribute_name: name, dynamic_attribute_value: value }
      return [{ ...keyOf(row, columns), ...attribute }]
    },
  }
}

function membersOf(
  { list, rows, position }: ShownRows,
  joined: RawBuilder<unknown> = sql``,
): RawBuilder<unknown> {
  return sql`
    from ${rows.from}
    left join products p on p.account_id = ${list.account_id} and p.id = r.product_id
    ${position ? attributesOfRow(list).join : sql``} ${joined}
    where r.account_id = ${list.account_id} and r.price_list_id = ${list.id} and ${rows.isMember}`
}

function keyColumns({ extensions }: Columns): string[] {
  return ['pk', 'extended_catalog_id', 'code', ...extensions.map(({ name }) => name)]
}

function keyOf({ id, product_id, code, extensions }: Row, columns: Columns): object {
  const named = Object.fromEntries(columnEntries(columns.extensions, extensions))
  return { pk: id, extended_catalog_id: product_id, code, ...named }
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

function lineWriter({ list, version }: ShownRows, columns: Columns) {
  const margin = parseMarginFormula(list.margin_formula, columns.costs)
  return (row: Row, { index, date, price }: Cell): object => ({
    ...keyOf(row, columns),
    price_dimension: list.price_dimensions[index],
    ...(date !== undefined && { date }),
    price: price ?? 0,
    priced: price !== null,
    ...(version !== 'past' && { margin: margin(price ?? 0, row.costs) }),
  })
}
