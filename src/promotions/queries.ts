import { type RawBuilder, sql } from 'kysely'
import type { ProductFilters } from '../catalog/product-filters.ts'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'

/** A promotion as prices are computed with it; null filters and dimensions match all rows. */
export interface Promotion {
  name: string
  kind: Schemas['PromotionKind']
  value: number
  product_filters: ProductFilters | null
  price_dimensions: string[] | null
}

/** The price list and day of a read. */
export interface PromotionScope {
  /** The list by name or id, whichever the read gives; the other is null. */
  priceListName: string | null
  priceListId: number | null
  date: string
}

/** SQL that is true for a promotion valid on the day. */
export function isValidOn(date: string): RawBuilder<boolean> {
  return sql<boolean>`(valid_from <= ${date}::date and valid_to >= ${date}::date)`
}

/** The promotions that are valid on the day for the list, sorted by name. */
export async function findValidPromotions(
  trx: Trx,
  account: number,
  { priceListName, priceListId, date }: PromotionScope,
): Promise<Promotion[]> {
  const { rows } = await sql<Promotion>`
    select name, kind, value, product_filters, price_dimensions
    from promotions
    where account_id = ${account} and ${isValidOn(date)}
      and (price_lists is null or coalesce(${priceListName}, (
        select l.name from price_lists l where l.account_id = ${account} and l.id = ${priceListId}
      )) = any(price_lists))
    order by name`.execute(trx)
  return rows
}

/** Those of the names that exist as promotions, valid or not, or as price lists. */
export async function findNames(
  trx: Trx,
  account: number,
  table: 'promotions' | 'price_lists',
  names: string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(table)} where account_id = ${account} and name = any(${names}::text[])`.execute(
    trx,
  )
  return new Set(rows.map(({ name }) => name))
}
