import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { select } from '../../../helpers/sql.ts'
import { admitted } from '../admitted.ts'
import type { Arena } from '../arena.ts'
import { type Kind, underLoad } from '../kind.ts'
import { codesFrom, stableRows, type Tenant } from '../tenant.ts'

const withinMs = 3000

/** A foreign session locks a list: writers get an answer in time, readers go on. */
export const lockHeld: Kind = {
  name: 'lock-held',
  isQuick: true,
  run: (arena) =>
    underLoad(arena, async (_service, { quiet: tenant }) => {
      const client = new pg.Client({ connectionString: arena.databaseUrl })
      await client.connect()
      const lock = `select from price_lists where account_id = $1 and name = 'stable' for update`
      await client.query('begin')
      await client.query(lock, [tenant.account])
      await expectRefused(arena, tenant)
      await expectNothingLeft(arena, () => expectReads(arena, tenant))
      await client.query('commit')
      await client.end()
      await expectTaken(arena, tenant)
    }),
}

async function expectRefused(arena: Arena, tenant: Tenant): Promise<void> {
  const { faults, timeFactor } = arena
  const { status, body, ms } = await admitted(arena, () => writePrice(tenant))
  if (body?.type !== 'unavailable' || ms > withinMs * timeFactor)
    faults.push(`a writer got ${status} ${body?.type} after ${ms} ms`)
}

async function expectTaken(arena: Arena, tenant: Tenant): Promise<void> {
  const { faults } = arena
  const { status } = await admitted(arena, () => writePrice(tenant))
  if (status === 201) tenant.ledger.prices.acknowledged = tenant.ledger.prices.last
  else faults.push(`a writer got ${status} when the list was free again`)
}

function writePrice({ send, ledger }: Tenant) {
  const price = ++ledger.prices.last
  const payload = codesFrom(stableRows).map((row) => ({ ...row, price }))
  const body = { price_list_name: 'stable', payload }
  return send('POST', '/api/v1/prices/bulk_update_prices/', body)
}

async function expectReads(arena: Arena, { send }: Tenant): Promise<void> {
  const { faults, timeFactor } = arena
  const body = { price_list_name: 'stable', payload: [{ country: 'UK' }] }
  const read = () => send('POST', '/api/v1/prices/get_prices/', body)
  const { status, ms } = await admitted(arena, read)
  if (status !== 201 || ms > withinMs * timeFactor)
    faults.push(`a reader got ${status} after ${ms} ms`)
}

/** Expects no session of answered requests to wait for the lock, which is still held. */
async function expectNothingLeft(
  { databaseUrl, faults }: Arena,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const [{ now }] = await select(databaseUrl, 'select now()::text')
  await meanwhile()
  await sleep(withinMs)
  const left = await select(
    databaseUrl,
    `select application_name, query from pg_stat_activity where datname = current_database()
     and application_name like 'pricewell %' and wait_event_type = 'Lock' and query_start < $1`,
    [now],
  )
  if (left.length > 0) faults.push(`left in the server: ${JSON.stringify(left)}`)
}
