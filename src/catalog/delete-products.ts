import { sql } from 'kysely'
import { lockAccount } from '../accounts/queries.ts'
import { distinctKeys } from '../contract/duplicates.ts'
import { transaction } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { readStatementMs, withinReadTime } from '../contract/read-cost.ts'
import { listedMax } from '../contract/row-errors.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { takeTable } from '../database/table-lock.ts'

/** Deletes products by id. Throws `product-in-use` if a price list has one of them, or `too-costly`. */
export const deleteProducts = transaction<'deleteProducts'>(
  async (trx, { account, body, errors }) => {
    const keys = await distinctKeys(body, errors)
    const ids = arrayLiteral(keys)
    await holdLists(trx, account)
    await takeTable(trx, 'products', account)
    await rejectHeld(trx, account, ids)
    const deleted = await deleteRows(trx, account, ids)
    return { deleted, absent: keys.length - deleted }
  },
)

/** Waits for writers of the account's lists, which look up products, and makes new lists and writers wait. */
async function holdLists(trx: Trx, account: number): Promise<void> {
  await lockAccount(trx, account)
  await sql`
    select count(*) from (
      select from price_lists where account_id = ${account} order by id for no key update
    ) as held`.execute(trx)
}

interface Held {
  position: number
  list: string
  lists: number
  total: number
}

/**
 * Throws `product-in-use` with the rows of the body whose products a draft or published version has, or `too-costly`.
 */
async function rejectHeld(trx: Trx, account: number, ids: string): Promise<void> {
  await sql`set local statement_timeout = ${sql.lit(readStatementMs)}`.execute(trx)
  const rows = await withinReadTime('Delete fewer products at a time.', () =>
    findHeld(trx, account, ids),
  )
  await sql`set local statement_timeout to default`.execute(trx)
  if (rows.length > 0) throw productInUse(rows)
}

async function findHeld(trx: Trx, account: number, ids: string): Promise<Held[]> {
  const { rows } = await sql<Held>`
    select input.position - 1 as position, min(l.name) as list, count(*) as lists, count(*) over () as total
    from unnest(${ids}::bigint[]) with ordinality as input (id, position)
    join products p on p.account_id = ${account} and p.id = input.id
    join price_lists l on l.account_id = ${account}
    join price_list_rows r on r.account_id = ${account} and r.price_list_id = l.id and r.code = p.code
      and r.extension_key = p.extension_key and (r.removed_version is null or r.removed_version > l.version)
    group by input.position order by input.position limit ${listedMax}`.execute(trx)
  return rows
}

function productInUse(rows: Held[]): Problem {
  const errors = rows.map((held) => {
    const row = held.position
    return { pointer: `/${row}`, row, code: 'in_use' as const, message: messageOf(held) }
  })
  const errorCount = rows[0]?.total ?? 0
  const what = errorCount === 1 ? '1 product is' : `${errorCount} products are`
  const detail = `${what} in a price list. Nothing was deleted; remove them from their lists first.`
  return new Problem('product-in-use', detail, { errors, errorCount })
}

function messageOf({ list, lists }: Held): string {
  const others = lists - 1
  const more = others > 0 ? ` and ${others} more` : ''
  return `is in the price list ${JSON.stringify(list)}${more}`
}

/** Deletes products, and the attributes of codes that have none left. Returns how many products were deleted. */
async function deleteRows(trx: Trx, account: number, ids: string): Promise<number> {
  const { count, codes } = await onlyRow<{ count: number; codes: string }>(trx)`
    with gone as (
      delete from products where account_id = ${account} and id = any(${ids}::bigint[]) returning code
    )
    select count(*) as count, coalesce(array_agg(distinct code), '{}')::text as codes from gone`
  await sql`
    delete from product_attributes a where a.account_id = ${account} and a.code = any(${codes}::text[])
      and not exists (select from products p where p.account_id = ${account} and p.code = a.code)`.execute(
    trx,
  )
  return count
}
