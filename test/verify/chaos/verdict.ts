import { setTimeout as sleep } from 'node:timers/promises'
import { select } from '../../helpers/sql.ts'
import type { Arena } from './arena.ts'
import { promotions } from './change-load.ts'
import { type Batch, type Changes, type ListEntry, unserved } from './ledger.ts'
import { stableRows, type Tenant } from './tenant.ts'
import { valueIn } from './values.ts'

/** Compares the database with the ledgers; every difference is a fault. */
export async function judge(arena: Arena, tenants: Tenant[]): Promise<void> {
  for (const tenant of tenants) {
    for (const name of unserved(tenant.ledger))
      arena.faults.push(`account ${tenant.account}: none of its ${name} was acknowledged`)
    await judgeBatches(arena, tenant)
    await judgeChanges(arena, tenant)
    await judgeDeleted(arena, tenant)
    for (const [name, list] of tenant.ledger.lists) await judgeList(arena, tenant, name, list)
  }
  await judgeQueue(arena)
}

/** Batches are there whole with their values or not at all, acknowledged ones whole, and nothing else. */
async function judgeBatches({ databaseUrl, faults }: Arena, { account, ledger }: Tenant) {
  const tables: [Map<string, Batch>, string][] = [
    [ledger.sales, storedSales],
    [ledger.products, storedProducts],
  ]
  for (const [batches, text] of tables) {
    const stored = new Map<string, { rows: number; good: number }>()
    for (const { name, ...counts } of await select(databaseUrl, text, [account]))
      stored.set(name, counts)
    for (const [name, { rows, isAcknowledged }] of batches) {
      const found = stored.get(name) ?? { rows: 0, good: 0 }
      const isRight = found.rows === rows || (found.rows === 0 && !isAcknowledged)
      const sent = isAcknowledged ? 'acknowledged' : 'not acknowledged'
      if (!isRight) faults.push(`batch ${name}: ${found.rows} of ${rows} rows, ${sent}`)
      if (found.good !== found.rows)
        faults.push(
          `batch ${name}: ${found.rows - found.good} of ${found.rows} rows are not as sent`,
        )
      stored.delete(name)
    }
    for (const name of stored.keys()) faults.push(`batch ${name} was never sent`)
  }
}

/** Rows of each batch, and how many hold what was sent. */
const storedSales = `
  select split_part(transaction_id, '-', 1) as name, count(*)::int as rows,
    count(*) filter (where code = split_part(transaction_id, '-', 1) and extension = ''
      and quantity = 1 and revenue = ${valueIn('transaction_id')} + 0.5)::int as good
  from sales where account_id = $1 group by 1`
const storedProducts = `
  select split_part(code, '-', 1) as name, count(*)::int as rows,
    count(*) filter (where extensions = '{FR}' and costs = array[${valueIn('code')}])::int as good
  from products where account_id = $1 and code like 'N%' group by 1`

/** All rows of the list "stable" have one price, all promotions one value. */
async function judgeChanges({ databaseUrl, faults }: Arena, { account, ledger }: Tenant) {
  const kinds: [string, Changes, number, string][] = [
    [
      'prices',
      ledger.prices,
      stableRows,
      `select prices[1]::int as value, count(*)::int as rows from price_list_rows r
       join price_lists l on l.account_id = r.account_id and l.id = r.price_list_id
       where l.account_id = $1 and l.name = 'stable' group by 1`,
    ],
    [
      'promotions',
      ledger.promotions,
      promotions.length,
      `select value::int, count(*)::int as rows from promotions where account_id = $1 group by 1`,
    ],
  ]
  for (const [name, { acknowledged, last }, count, text] of kinds) {
    const found = await select(databaseUrl, text, [account])
    const [{ value, rows } = { value: 0, rows: count }, ...others] = found
    // The last acknowledged one, or one sent later.
    const isRight = others.length === 0 && rows === count && value >= acknowledged && value <= last
    if (!isRight)
      faults.push(`${name} ${JSON.stringify(found)}, acknowledged ${acknowledged}, last ${last}`)
  }
}

/** Deleted lists stay deleted. */
async function judgeDeleted({ databaseUrl, faults }: Arena, { account, ledger }: Tenant) {
  const text = 'select id from price_lists where account_id = $1 and id = any($2)'
  const left = await select(databaseUrl, text, [account, ledger.deleted])
  if (left.length > 0) faults.push(`lists are there that were deleted: ${JSON.stringify(left)}`)
}

/** Every job that was not cancelled was done once: one publication, its rows, and a result that names them. */
async function judgeList(
  { databaseUrl, faults }: Arena,
  { account }: Tenant,
  name: string,
  { id, jobs, cancelled }: ListEntry,
): Promise<void> {
  const [found] = await select(
    databaseUrl,
    `select l.version, count(r.id)::int as rows, count(distinct r.product_id)::int as products,
       count(*) filter (where r.added_version > l.version or r.removed_version is not null)::int as left_over
     from price_lists l
     left join price_list_rows r on r.account_id = l.account_id and r.price_list_id = l.id
     where l.account_id = $1 and l.id = $2 group by l.version`,
    [account, id],
  )
  const rows = jobs.at(-1)?.rows ?? 0
  const expected = { version: jobs.length, rows, products: rows, left_over: 0 }
  if (JSON.stringify(found) !== JSON.stringify(expected))
    faults.push(`list ${name}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`)
  const done = await select(
    databaseUrl,
    `select id, status, finished = total as is_whole, finished,
       case when kind = 'add-products' then cardinality(row_ids)
         else json_array_length(result -> 'added') + json_array_length(result -> 'removed')
           + json_array_length(result -> 'untouched') end as ids
     from jobs where account_id = $1 and price_list_id = $2
       and not (id = any($3) and status = 'cancelled') order by id`,
    [account, id, cancelled],
  )
  const isDone = done.every(({ status, is_whole }) => status === 'done' && is_whole)
  const counts = done.map(({ ids }) => ids)
  if (!isDone || counts.join() !== jobs.map((job) => job.rows).join())
    faults.push(`jobs of ${name}: ${JSON.stringify(done)}, sent ${JSON.stringify(jobs)}`)
}

/** The queue holds no job that will never run. */
async function judgeQueue({ databaseUrl, faults }: Arena): Promise<void> {
  const deadline = Date.now() + 30_000
  const unfinished = `select count(*)::int from pgboss.job where name in ('price-list', 'file') and state < 'completed'`
  while ((await select(databaseUrl, unfinished))[0].count > 0) {
    if (Date.now() > deadline) return void faults.push('jobs are left in the queue')
    await sleep(100)
  }
}
