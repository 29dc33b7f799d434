import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { select } from '../../../helpers/sql.ts'
import type { Arena } from '../arena.ts'
import type { Cluster } from '../cluster.ts'
import { type Kind, underLoad } from '../kind.ts'
import type { Tenant } from '../tenant.ts'
import { aSale } from '../values.ts'

const rounds = 3
/** Postgres looks for a deadlock 1 s after a wait began; on a slow machine the cycle may close later. */
const triesMax = 5

/** A foreign session locks rows in the wrong order; the service is the victim that Postgres picks. */
export const deadlock: Kind = {
  name: 'deadlock',
  isQuick: false,
  run: (arena) =>
    underLoad(arena, async (_service, { quiet }) => {
      for (let round = 0; round < rounds; round++) await untilDeadlock(arena, quiet, `D${round}`)
    }),
}

/** Waits for a deadlock and checks what the client saw. */
async function untilDeadlock(arena: Arena, tenant: Tenant, name: string): Promise<void> {
  const { cluster, faults } = arena
  for (let attempt = 0; attempt < triesMax; attempt++) {
    const before = deadlocksOf(cluster)
    const status = await provoke(arena, tenant, name)
    if (deadlocksOf(cluster) === before) continue
    if (status !== 201) faults.push(`a client saw the deadlock: ${status}`)
    return
  }
  faults.push(`no deadlock in ${triesMax} attempts`)
}

const deadlocksOf = ({ log }: Cluster) => log().split('deadlock detected').length

/** Locks the last row, then the first; in between a request locks them in order. Returns its status. */
async function provoke({ databaseUrl }: Arena, tenant: Tenant, name: string): Promise<number> {
  const path = '/api/v1/sales_history/bulk_create_or_update'
  const rows = [1, 2, 3].map((index) => aSale(name, index))
  tenant.ledger.sales.set(name, { rows: rows.length, isAcknowledged: true })
  await untilAcknowledged(tenant, path, rows)
  const outsider = new pg.Client({ connectionString: databaseUrl })
  await outsider.connect()
  const take = (index: number) =>
    outsider.query('update sales set revenue = 2 where account_id = $1 and transaction_id = $2', [
      tenant.account,
      `${name}-${index}`,
    ])
  await outsider.query(`set deadlock_timeout = '1min'`)
  await outsider.query('begin')
  await take(3)
  const [{ pid }] = (await outsider.query('select pg_backend_pid() as pid')).rows
  const request = tenant.send('POST', path, rows)
  await Promise.race([request, untilBlocked(databaseUrl, pid)])
  await take(1)
  await outsider.query('commit')
  await outsider.end()
  return (await request).status
}

async function untilAcknowledged({ send }: Tenant, path: string, rows: object[]): Promise<void> {
  while ((await send('POST', path, rows)).status !== 201) await sleep(20)
}

/** Waits, 1 s at most, until a request waits for the foreign session. */
async function untilBlocked(url: string, outsider: number): Promise<void> {
  const deadline = Date.now() + 1000
  const blocked = `select from pg_stat_activity
    where application_name = 'pricewell writes' and $1 = any(pg_blocking_pids(pid))`
  while (Date.now() < deadline && (await select(url, blocked, [outsider])).length === 0)
    await sleep(5)
}
