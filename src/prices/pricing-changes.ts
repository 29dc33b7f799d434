import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { Pricing } from './known-pricings.ts'

/** The settings of the account have changed since a pricing was loaded, or its list is gone or published no more. */
export class PricingChanged extends Error {}

/** What tells whether a pricing holds; null: the list is not there; 0: it is not published. */
export interface Versions {
  settings: number
  list: number | null
}

/** The columns `settings` and `list` of a statement, which so tells of the pricing what it tells of the rows. */
export function versionColumns({
  account_id,
  id,
}: Pick<PriceList, 'account_id' | 'id'>): RawBuilder<Versions> {
  return sql`
    (select settings_version from accounts where id = ${account_id}) as settings,
    (select version from price_lists where account_id = ${account_id} and id = ${id}) as list`
}

/** Throws PricingChanged unless a pricing still holds. */
export function rejectChanged({ settingsVersion }: Pricing, { settings, list }: Versions): void {
  if (!list || settings !== settingsVersion) throw new PricingChanged()
}

/** `rejectChanged` for a read whose statement does not bring the versions. Answers them. */
export async function lookForChanges(trx: Trx, pricing: Pricing): Promise<Versions> {
  const { rows } = await sql<Versions>`select ${versionColumns(pricing.list)}`.execute(trx)
  const versions = rows[0] as Versions
  rejectChanged(pricing, versions)
  return versions
}
