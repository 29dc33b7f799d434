import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createAccount } from '../../src/accounts/create-account.ts'
import { readConfig } from '../../src/config.ts'
import { databaseUrl } from '../../src/database/server.ts'
import { startService } from '../../src/service.ts'
import { startFault } from '../../src/startup-errors.ts'
import { loginOf, query } from '../helpers/database.ts'
import { jwtSecret, startServiceOn } from '../helpers/service.ts'
import { aFilledList } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'

const server = process.env.TEST_DATABASE_URL ?? ''
const name = `test_${randomBytes(8).toString('hex')}`
const asSuperuser = databaseUrl(server, name)

const ownersPolicies = (owner: string) =>
  select(
    asSuperuser,
    `select tablename, policyname from pg_policies where roles = array['${owner}'::name] order by tablename`,
  )

/** As `pg_restore --no-owner` leaves a database for this user: policies for a role that is not there are missing. */
async function restoreFor(owner: string): Promise<void> {
  for (const { tablename, policyname } of policies)
    await query(asSuperuser, `drop policy ${policyname} on ${tablename}`)
  // As if a migration had made it before the rights of the new owner were there.
  await query(asSuperuser, 'revoke all on plan_rows from pricewell_app')
  for (const statement of [
    `alter database ${name} owner to ${owner}`,
    `alter schema pgboss owner to ${owner}`,
    `reassign owned by ${name}_old to ${owner}`,
  ])
    await query(asSuperuser, statement)
}

function as(user: string): string {
  const url = new URL(asSuperuser)
  url.searchParams.set('user', user)
  return url.toString()
}

for (const user of ['old', 'new'])
  await query(server, `create role ${name}_${user} ${loginOf(server)}`)
await query(server, `grant pricewell_app to ${name}_old`)
await query(server, `create database ${name} owner ${name}_old`)
const drop = async () => {
  await query(server, `drop database ${name}`)
  await query(server, `drop role ${name}_old`)
  await query(server, `drop role ${name}_new`)
}
const database = (user: string) => ({ name, url: as(user), serverUrl: server, drop })

const environment = { DATABASE_URL: as(`${name}_new`), JWT_SECRET: jwtSecret, LOG_LEVEL: 'fatal' }
const config = readConfig(environment)
const before = await startService(readConfig({ ...environment, DATABASE_URL: as(`${name}_old`) }))
await before.close()
const policies = await ownersPolicies(`${name}_old`)
await restoreFor(`${name}_new`)

t.test('a user who may not act as the role of the service is told at the start', async (t) => {
  const fault = await startService(config).then(({ close }) => close(), startFault)
  t.match(fault, new RegExp(`^Cannot start:\n- .*"grant pricewell_app to ${name}_new"$`))
})

t.test('a database that was restored for another user is that one’s', async (t) => {
  await query(server, `grant pricewell_app to ${name}_new`)
  const service = await startServiceOn(t, database(`${name}_new`))
  t.ok(policies.length > 0)
  t.strictSame(await ownersPolicies(`${name}_new`), policies)
  const ofPlans = `select has_table_privilege('pricewell_app', 'plan_rows', 'insert') as may`
  t.strictSame(await select(asSuperuser, ofPlans), [{ may: true }])
  await createAccount(service.url, { account: 'A', email: 'a@example.com' })

  const { shop } = await aFilledList(t, service)
  const key = { code: 'A', country: 'UK' }
  const list = { price_list_name: 'L', payload: [{ ...key, price: 10 }] }
  t.equal((await shop.post('/api/v1/prices/bulk_update_prices/', list)).status, 201)
  const prices = async () =>
    (await shop.post('/api/v1/prices/get_prices/', { price_list_name: 'L', payload: [key] })).body
  t.match(await prices(), [{ active_price: 10 }])
  const all = { valid_from: '2000-01-01', valid_to: '2999-12-31' }
  const promotion = { name: 'P', kind: 'percentage', value: 20, ...all }
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [promotion])
  t.match(await prices(), [{ active_price: 8 }], 'what was kept of the promotions is read again')

  const sales = '/api/v1/sales_history/bulk_create_or_update'
  await shop.send('POST', sales, [], { 'idempotency-key': 'K' })
  await query(asSuperuser, `update idempotency_keys set created_at = now() - interval '25 hours'`)
  const expired = 'select delete_expired_keys()::integer as keys'
  t.strictSame(await select(service.url, expired), [{ keys: 1 }])

  await query(service.url, 'create table later (id bigint)')
  const rights = `select has_table_privilege('pricewell_app', 'later', 'insert') as may`
  t.strictSame(await select(service.url, rights), [{ may: true }], 'a later migration')
})
