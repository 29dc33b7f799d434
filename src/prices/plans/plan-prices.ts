import { type RawBuilder, sql } from 'kysely'
import type { Answer, Origin, Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { isPublishedNow, joinProducts } from '../../price-lists/list-rows.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { heldPrice } from '../write/stale-cells.ts'
import { keyOfRow, makePlan } from './plan-rows.ts'

interface PlannedPrices {
  /** A FROM item `f`: position, code, extension_key, dimension, date, price. */
  cells: RawBuilder<unknown>
  origin: Origin
  observed_at?: string | undefined
  /** How many stale cells were left out. */
  skipped: number
}

/** Makes a plan of new prices for a locked list. */
export async function planPrices(
  trx: Trx,
  list: PriceList,
  { cells, origin, observed_at, skipped }: PlannedPrices,
): Promise<Answer<Schemas['Plan']>> {
  const { account_id: account } = list
  const { held, months } = heldPrice(list)
  return makePlan(
    trx,
    { operation: 'update_prices', list, origin, call: { observed_at, skipped } },
    sql`
      select f.position, ${keyOfRow}, f.dimension, f.date, null as action, p.costs, ${held} as old, f.price as new,
        null as reason, null::jsonb as inputs
      from ${cells} join price_list_rows r on r.account_id = ${account} and r.price_list_id = ${list.id}
        and r.code = f.code and r.extension_key = f.extension_key and ${isPublishedNow(list)}
      ${joinProducts(list)}
      ${months}`,
  )
}
