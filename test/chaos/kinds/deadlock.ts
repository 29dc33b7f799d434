import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { select } from '../../helpers/sql.ts'
import type { Arena } from '../arena.ts'
import { type Kind, underLoad } from '../kind.ts'
import type { Tenant } from '../tenant.ts'

const rounds = 3

/** A session that is not ours takes rows in the wrong order; the service is the one that the server picks. */
export const deadlock: Kind = {
  name: 'deadlock',
  isQuick: false,
  run: (arena) =>
    underLoad(arena, async (_service, { tenants }) => {
      for (let round = 0; round < rounds; round++)
        await provoke(arena, tenants[0] as Tenant, `D${round}`)
    }),
}

/** Last row first, first row last: in between a request takes them in their order. */
async function provoke({ databaseUrl, faults }: Arena, tenant: Tenant, name: string) {
  const path = '/api/v1/sales_history/bulk_create_or_update'
  const rows = [1, 2, 3].map((index) => ({
    ...{ transaction_id: `${name}-${index}`, code: name, extension: '' },
    ...{ quantity: '1', revenue: '1' },
  }))
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
  const request = tenant.send('POST', path, rows)
  await untilBlocked(databaseUrl)
  await take(1)
  await outsider.query('commit')
  await outsider.end()
  const { status } = await request
  if (status !== 201) faults.push(`a client saw the deadlock: ${status}`)
}

async function untilAcknowledged({ send }: Tenant, path: string, rows: object[]): Promise<void> {
  while ((await send('POST', path, rows)).status !== 201) await sleep(20)
}

async function untilBlocked(url: string): Promise<void> {
  const blocked = `select from pg_stat_activity where wait_event_type = 'Lock'
    and datname = current_database() and query like '%sales%' and application_name = 'pricewell writes'`
  while ((await select(url, blocked)).length === 0) await sleep(5)
}
