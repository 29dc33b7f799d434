import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { PriceLists } from '../../generated/database.d.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import type { CurrentJob } from '../jobs/attempt.ts'

/** What identifies a list in SQL: values or placeholders. */
export interface ListKey {
  account_id: number | RawBuilder<number>
  id: number | RawBuilder<number>
}

export type PriceList = Selectable<PriceLists>

export type ListName = { name: string } | { id: number }

/** SQL that is true for the rows of a list in a table that names it by `price_list_id`; `table` is its alias. */
export const ofList = ({ account_id, id }: ListKey, table = ''): RawBuilder<boolean> => {
  const of = sql.raw(table && `${table}.`)
  return sql<boolean>`${of}account_id = ${account_id} and ${of}price_list_id = ${id}`
}

/**
 * SQL of a FROM item `l` with the list's row. Next to it, a cluster inserts the rows of a CTE on the account's node;
 * alone, it would send them to every node, and one node that is down would stop the writes of all accounts.
 */
export const rowOfList = ({ account_id, id }: ListKey): RawBuilder<unknown> =>
  sql`(select account_id, id from price_lists where account_id = ${account_id} and id = ${id}) as l`

/** SQL of the prices of a row, or of a month, that has none: null in each of its places, which reads as 0. */
export const noPrices = (places: number): RawBuilder<unknown> =>
  sql`array_fill(null::numeric, array[${sql.lit(places)}])`

/** Finds a list. Throws `price-list-not-found`, also for a list of another account. */
export async function findPriceList(trx: Trx, account: number, by: ListName): Promise<PriceList> {
  const list = await selectPriceList(trx, account, by).executeTakeFirst()
  return list ?? rejectMissing(by)
}

/** Finds a list and locks it until the transaction ends. Its writers wait for each other; readers do not. */
export async function lockPriceList(trx: Trx, account: number, by: ListName): Promise<PriceList> {
  const list = await selectPriceList(trx, account, by).forNoKeyUpdate().executeTakeFirst()
  return list ?? rejectMissing(by)
}

/** As `lockPriceList`, but also excludes `keepPriceList`. */
export async function lockListForDeletion(
  trx: Trx,
  account: number,
  by: ListName,
): Promise<PriceList> {
  const list = await selectPriceList(trx, account, by).forUpdate().executeTakeFirst()
  return list ?? rejectMissing(by)
}

/** Prevents the deletion of a list until the transaction ends; its writers continue. */
export async function keepPriceList(trx: Trx, account: number, by: ListName): Promise<void> {
  if (!(await selectPriceList(trx, account, by).forKeyShare().executeTakeFirst())) rejectMissing(by)
}

/** Finds and locks the list of a job, which must have one. */
export async function lockListOf(trx: Trx, job: CurrentJob): Promise<PriceList> {
  if (job.price_list_id === null) throw new Error('the job is for no list')
  return await lockPriceList(trx, job.account_id, { id: job.price_list_id })
}

/** Throws `price-list-not-managed` for a list that another system manages. */
export function rejectUnmanaged(list: PriceList): void {
  if (list.origin !== 'api') {
    throw new Problem(
      'price-list-not-managed',
      'The price list was made elsewhere and cannot be changed through this interface.',
    )
  }
}

/** Throws `price-list-not-published` for a list that was never published. */
export function rejectUnpublished(list: PriceList): void {
  if (list.version === 0) {
    throw new Problem(
      'price-list-not-published',
      'The price list is not published yet; adding products publishes it.',
    )
  }
}

function selectPriceList(trx: Trx, account: number, by: ListName) {
  const query = trx.selectFrom('price_lists').selectAll().where('account_id', '=', account)
  return 'id' in by ? query.where('id', '=', by.id) : query.where('name', '=', by.name)
}

/** Leaves out ids: another account's id must look like one that nobody has. */
function rejectMissing(by: ListName): never {
  const which = 'name' in by ? `no price list "${by.name}"` : 'no such price list'
  throw new Problem('price-list-not-found', `There is ${which}.`)
}
