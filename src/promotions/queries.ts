import { type AliasedRawBuilder, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Promotions } from '../../generated/database.d.ts'
import { changeSettingsVersion } from '../accounts/queries.ts'
import type { ProductFilters } from '../catalog/product-filters.ts'
import type { Schemas } from '../contract/operation.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'

/** The part of a promotion that prices depend on. Null filters or dimensions match all rows. */
export interface Promotion {
  name: string
  kind: Schemas['PromotionKind']
  value: number
  product_filters: ProductFilters | null
  price_dimensions: string[] | null
}

/** The columns of a promotion besides its id, which its versions keep. */
export const termNames = [
  ...(['name', 'kind', 'value', 'valid_from', 'valid_to'] as const),
  ...(['price_lists', 'product_filters', 'price_dimensions'] as const),
]
/** SQL of these columns. */
export const terms = sql.raw(termNames.join(', '))
/** SQL of these columns of a table. */
export const termsOf = (table: string) =>
  sql.raw(termNames.map((name) => `${table}.${name}`).join(', '))

/**
 * Keeps the current version of the promotions that match `which`, before they are replaced or deleted. Transactions
 * that change an account's promotions run one after another. Returns the moment of the change.
 */
export async function keepPromotions(
  trx: Trx,
  account: number,
  which: RawBuilder<boolean>,
): Promise<RawBuilder<Date>> {
  await changeSettingsVersion(trx, account)
  const { now: at } = await onlyRow<{ now: string }>(trx)`select clock_timestamp()::text as now`
  const now = sql<Date>`${at}::timestamptz`
  await sql`
    insert into promotion_versions (account_id, id, from_at, until_at, ${terms})
    select account_id, id, changed_at, ${now}, ${terms} from promotions where account_id = ${account} and ${which}
    on conflict do nothing returning id`.execute(trx)
  return now
}

/**
 * Deletes the versions that `keepPromotions` kept at `at` for promotions that did not change: a feed repeats most of
 * them. Returns their number.
 */
export async function forgetUnchanged(
  trx: Trx,
  account: number,
  at: RawBuilder<Date>,
): Promise<number> {
  const isSame = sql`v.account_id = ${account} and v.until_at = ${at} and p.account_id = ${account} and p.id = v.id
    and (${termsOf('p')}) is not distinct from (${termsOf('v')})`
  await sql`
    update promotions p set changed_at = v.from_at from promotion_versions v where ${isSame}`.execute(
    trx,
  )
  const { numAffectedRows } =
    await sql`delete from promotion_versions v using promotions p where ${isSame}`.execute(trx)
  return Number(numAffectedRows)
}

/** A FROM item `promotions`: as they were at a moment, or as they are now. Callers still filter by account. */
export function promotionsAsOf(
  account: number,
  at: string | undefined,
): AliasedRawBuilder<Selectable<Promotions>, 'promotions'> {
  const rows = at === undefined ? sql`promotions` : promotionsAt(account, at)
  return sql<Selectable<Promotions>>`${rows}`.as('promotions')
}

function promotionsAt(account: number, at: string): RawBuilder<unknown> {
  const moment = sql`${at}::timestamptz`
  return sql`(
    select account_id, id, ${terms} from promotions where account_id = ${account} and changed_at <= ${moment}
    union all
    select account_id, id, ${terms} from promotion_versions
    where account_id = ${account} and from_at <= ${moment} and until_at > ${moment}
  )`
}

/** The price list and day of a read. */
export interface PromotionScope {
  /** The list by name or id, whichever the read gives; the other is null. */
  priceListName: string | null
  priceListId: number | null
  date: string
  /** Promotions as they were at this moment. */
  asOf?: string | undefined
}

/** SQL that is true for a promotion valid on the day. */
export function isValidOn(date: string): RawBuilder<boolean> {
  return sql<boolean>`(valid_from <= ${date}::date and valid_to >= ${date}::date)`
}

/** The promotions that are valid on the day for the list, sorted by name. */
export async function findValidPromotions(
  trx: Trx,
  account: number,
  { priceListName, priceListId, date, asOf }: PromotionScope,
): Promise<Promotion[]> {
  const { rows } = await sql<Promotion>`
    select name, kind, value, product_filters, price_dimensions
    from ${promotionsAsOf(account, asOf)}
    where account_id = ${account} and ${isValidOn(date)}
      and (price_lists is null or coalesce(${priceListName}, (
        select l.name from price_lists l where l.account_id = ${account} and l.id = ${priceListId}
      )) = any(price_lists))
    order by name`.execute(trx)
  return rows
}

/** Returns the names that belong to existing price lists. */
export function findListNames(trx: Trx, account: number, names: string[]): Promise<Set<string>> {
  return findNames(trx, account, sql`price_lists`, names)
}

/** Returns the names of existing promotions, valid or not; with `asOf`, of those that existed then. */
export function findPromotionNames(
  trx: Trx,
  account: number,
  names: string[],
  asOf: string | undefined,
): Promise<Set<string>> {
  return findNames(trx, account, promotionsAsOf(account, asOf), names)
}

async function findNames(
  trx: Trx,
  account: number,
  table: RawBuilder<unknown> | AliasedRawBuilder<unknown, string>,
  names: string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const { rows } = await sql<{ name: string }>`
    select name from ${table} where account_id = ${account} and name = any(${names}::text[])`.execute(
    trx,
  )
  return new Set(rows.map(({ name }) => name))
}
