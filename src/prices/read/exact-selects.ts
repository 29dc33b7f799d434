import { type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../../catalog/row-key.ts'
import { type AccountSelect, accountSelect } from '../../database/account-select.ts'
import { monthPlace } from '../../price-lists/calendar.ts'
import {
  isWalkedAtOnce,
  pastPrices,
  pastPricesByRow,
} from '../../price-lists/history/past-prices.ts'
import type { Walk } from '../../price-lists/history/price-walk.ts'
import { isMemberAt, publishedRows } from '../../price-lists/list-rows.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { priceIfSet } from './matching-rows.ts'
import { versionColumns } from './pricing.ts'
import type { WantedRow } from './wanted-rows.ts'

interface KeyColumn {
  name: string
  type: string
  value: (row: WantedRow) => string | number
}

/** Each column is a parameter, after the account and the list. */
export const keyColumns: KeyColumn[] = [
  { name: 'code', type: 'text', value: ({ code }) => code ?? '' },
  { name: 'extension_key', type: 'text', value: ({ extensions }) => extensionKey(extensions) },
  { name: 'dimension', type: 'integer', value: ({ dimension }) => dimension },
]

const dayColumns: KeyColumn[] = [
  ...keyColumns,
  { name: 'month', type: 'date', value: ({ date = '' }) => monthPlace(date).month },
  { name: 'place', type: 'integer', value: ({ date = '' }) => monthPlace(date).place },
]

export const columnsOf = ({ is_calendar }: PriceList): KeyColumn[] =>
  is_calendar ? dayColumns : keyColumns

/** The account and list of a select are $1 and $2. The values of the key columns follow. */
const parameterList = { account_id: sql.raw<number>('$1'), id: sql.raw<number>('$2') }

/** The selects for one key, for keys that differ only in the code (most reads concern one market), and for any keys. */
export const selects = { rows: selectsOf(keyColumns, false), days: selectsOf(dayColumns, true) }

function selectsOf(columns: KeyColumn[], is_calendar: boolean) {
  // One statement for all lists: unpriced rows are left out, or set to 0, after the read.
  const listRows = publishedRows({ ...parameterList, is_calendar, hide_unpriced: false })
  const price = priceIfSet(listRows)
  const values = columns.map(({ name, type }, index) =>
    sql.raw(`$${index + 3}::${type} as ${name}`),
  )
  const arrays = columns.map(({ type }, index) => sql.raw(`$${index + 3}::${type}[]`))
  const names = sql.raw(columns.map(({ name }) => name).join(', '))
  const found = sql`
    left join price_list_rows r on r.account_id = $1 and r.price_list_id = $2
      and r.code = input.code and r.extension_key = input.extension_key and ${listRows.isMember}`
  const select = (kind: string, fields: RawBuilder<unknown>, input: RawBuilder<unknown>) =>
    accountSelect(
      `prices_of_${is_calendar ? 'days' : 'rows'}_${kind}`,
      sql`select ${fields}, ${versionColumns(parameterList)} from ${input} ${found}`,
    )
  // Arrays: an object for each row would cost more than finding it.
  const arraysOf = sql`array_agg(r.id order by at)::text as ids, array_agg(r.product_id order by at)::text as products,
    array_agg(${price} order by at)::text as prices`
  return {
    one: select(
      'one',
      sql`r.id, r.product_id, ${price} as price`,
      sql`(select ${sql.join(values)}) as input`,
    ),
    alike: select(
      'alike',
      arraysOf,
      sql`(
      select code, at, ${sql.join(values.slice(1))} from unnest(${arrays[0]}) with ordinality as given (code, at)
    ) as input`,
    ),
    any: select(
      'any',
      arraysOf,
      sql`unnest(${sql.join(arrays)}) with ordinality as input (${names}, at)`,
    ),
  }
}

const pastSelects = new Map<string, AccountSelect>()

/** The select for this many keys as of a revision, which is its last parameter. */
export function selectOfPast(list: PriceList, walk: Walk, keys: number): AccountSelect {
  const { price_dimensions } = list
  const isAtOnce = isWalkedAtOnce(list, walk, keys)
  const way = isAtOnce
    ? 'at_once'
    : [walk.direction, walk.slices, price_dimensions.length].join('_')
  const known = pastSelects.get(way)
  if (known) return known
  const revision = sql.raw<number>(`$${keyColumns.length + 3}::integer`)
  const walked = {
    list: { ...parameterList, is_calendar: false, price_dimensions },
    revision,
    walk,
  }
  const past = isAtOnce ? pastPrices(parameterList, revision) : pastPricesByRow(walked)
  const select = accountSelect(`prices_of_past_rows_${way}`, pastTemplate(revision, past))
  pastSelects.set(way, select)
  return select
}

/** `past` is the CTE `past` (at, price) of the rows in `found` that changed after the revision. */
function pastTemplate(
  revision: RawBuilder<number>,
  past: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const isRow = sql`r.account_id = $1 and r.price_list_id = $2 and r.code = input.code
    and r.extension_key = input.extension_key and ${isMemberAt(revision)}`
  const hasRemoved = sql`(select exists (select from removed_rows where account_id = $1 and price_list_id = $2))`
  const columns = sql`product_id, since, prices`
  return sql`
    with recursive found as materialized (
      select at, dimension, r.id, r.product_id, r.since, r.prices, r.prices[dimension] as price
      from unnest($3::text[], $4::text[], $5::integer[]) with ordinality as input (code, extension_key, dimension, at)
      left join lateral (
        select id, ${columns} from price_list_rows r where ${isRow}
        union all
        select row_id, ${columns} from removed_rows r where ${hasRemoved} and ${isRow}
      ) as r on true
    ), ${past}
    select array_agg(id order by at)::text as ids, array_agg(product_id order by at)::text as products,
      array_agg(case when since > ${revision} then past.price else found.price end order by at)::text as prices,
      ${versionColumns(parameterList, revision)}
    from found left join past using (at)`
}
