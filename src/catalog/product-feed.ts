import { type RawBuilder, sql } from 'kysely'
import type { FeedId } from '../contract/feed.ts'
import { pointerSegment, sentences } from '../contract/row-errors.ts'
import { type StagedFaults, stagedFaults, stagedFaultsMax } from '../contract/staged-faults.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import type { InputColumn } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import type { Column, Columns } from './columns.ts'
import type { ProductRow } from './product-rows.ts'

export const productColumns: InputColumn<ProductRow>[] = [
  { name: 'code', type: 'text', value: ({ code }) => code },
  { name: 'extensions', type: 'text[]', value: ({ extensions }) => arrayLiteral(extensions) },
  { name: 'extension_key', type: 'text', value: ({ extensionKey }) => extensionKey },
  { name: 'attributes', type: 'text[]', value: ({ attributes }) => arrayLiteral(attributes) },
  { name: 'costs', type: 'numeric[]', value: ({ costs }) => arrayLiteral(costs) },
  { name: 'active', type: 'boolean', value: ({ active }) => active },
]

/** The exported id of a product, checked against the key of its row. */
export function productId(account: number, { extensions }: Pick<Columns, 'extensions'>): FeedId {
  return {
    name: 'extended_catalog_id',
    type: 'bigint',
    parts: keyParts(extensions),
    changed: sql`
      select r.code || r.extensions as was, ${stagedKey} as says from products r
      where r.account_id = ${account} and r.id = f.given_extended_catalog_id and ${isOtherKey}`,
  }
}

/** The names of the columns that identify a product. */
export function keyParts(extensions: readonly Column[]): string[] {
  return ['code', ...extensions.map(({ name }) => name)]
}

/** SQL of the key of a staged row `f`, as texts. */
export const stagedKey: RawBuilder<unknown> = sql`f.code || array(select json_array_elements_text(f.extension_key::json))`

/** SQL that is true if a stored row `r` and a staged row `f` are different products. */
export const isOtherKey: RawBuilder<unknown> = sql`(r.code, r.extension_key) <> (f.code, f.extension_key)`

/** SQL of a FROM item with the staged attributes, one row for each code that has any, ordered by code. */
export const attributesByCode = sql`(
  select code, array_agg(text order by ordinal) as attributes
  from (
    select code, ordinal, max(text) as text
    from pg_temp.feed, unnest(attributes) with ordinality as given (text, ordinal)
    group by code, ordinal
  ) as merged
  group by code having count(text) > 0 order by code
) as input`

/** Finds staged rows that give a code's attribute a different value than an earlier row. */
export async function findDifferingAttributes(
  trx: Trx,
  { attributes }: Columns,
): Promise<StagedFaults> {
  if (attributes.length === 0) return { first: [], count: 0 }
  const { rows } = await sql<Differing>`
    select position, line, first_line, ordinal, code, count(*) over () as total
    from (
      select position, line, ordinal, code, text, first_value(text) over same as first_text,
        first_value(line) over same as first_line
      from pg_temp.feed, unnest(attributes) with ordinality as given (text, ordinal)
      where text is not null
      window same as (partition by code, ordinal order by position)
    ) as given
    where text <> first_text order by position limit ${stagedFaultsMax}`.execute(trx)
  return stagedFaults(rows, ({ line, first_line, ordinal, code }) => {
    const name = attributes[ordinal - 1]?.name ?? ''
    const message = sentences.otherValues(`lines ${first_line} and ${line}`, code, name)
    return { field: pointerSegment(name), code: 'duplicate_row', message }
  })
}

interface Differing {
  position: number
  line: number
  first_line: number
  ordinal: number
  code: string
  total: number
}
