import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { databaseUrl } from '../../src/database/server.ts'
import { loginOf, query } from '../helpers/database.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { startServiceOn } from '../helpers/service.ts'

const server = process.env.TEST_DATABASE_URL ?? ''
const name = `test_${randomBytes(8).toString('hex')}`
const asSuperuser = databaseUrl(server, name)
await query(server, `create role ${name} ${loginOf(server)}`)
await query(server, `grant pricewell_app to ${name}`)
await query(server, `create database ${name} owner ${name}`)
const service = await startServiceOn(t, {
  name,
  url: asOwner(asSuperuser),
  serverUrl: server,
  drop: async () => {
    await query(server, `drop database ${name}`)
    await query(server, `drop role ${name}`)
  },
})
const account = await service.newAccount(t)

const endAll = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`

let lists = 0
const requests = {
  'a read': () => account.get('/api/v1/price_list/'),
  'a write': () =>
    account.post('/api/v1/price_list/bulk_create/', [
      { name: `L${++lists}`, valid_from: '2026-01-01', valid_to: '2026-12-31' },
    ]),
  readiness: (t: Test) => send(t, service, { method: 'GET', path: '/health/ready' }),
}

const cases: Record<string, { url: string; refuse: string[]; allow: string[] }> = {
  'a database that takes no connections': {
    url: server,
    refuse: [`alter database ${name} with allow_connections false`],
    allow: [`alter database ${name} with allow_connections true`],
  },
  'a user who may not log in': {
    url: server,
    refuse: [`alter role ${name} nologin`],
    allow: [`alter role ${name} login`],
  },
  'a user who may not connect': {
    url: server,
    refuse: [`revoke connect on database ${name} from public, ${name}`],
    allow: [`grant connect on database ${name} to public, ${name}`],
  },
  'a database that was renamed': {
    url: server,
    refuse: [
      // Else the service connects again before it is renamed.
      `alter database ${name} with allow_connections false`,
      endAll,
      // One that was let in just before is not among them yet.
      'select pg_sleep(0.5)',
      endAll,
      `alter database ${name} rename to ${name}_away`,
    ],
    allow: [
      `alter database ${name}_away rename to ${name}`,
      `alter database ${name} with allow_connections true`,
    ],
  },
  'a role without rights on the tables': {
    url: asSuperuser,
    refuse: ['revoke all on all tables in schema public from pricewell_app'],
    allow: ['grant select, insert, update, delete on all tables in schema public to pricewell_app'],
  },
  'a role that may not use the schema': {
    url: asSuperuser,
    refuse: ['revoke usage on schema public from public, pricewell_app'],
    allow: ['grant usage on schema public to public'],
  },
  'a schema that was renamed': {
    url: asSuperuser,
    refuse: ['alter schema public rename to away'],
    allow: ['alter schema away rename to public'],
  },
}

for (const [fault, { url, refuse, allow }] of Object.entries(cases))
  t.test(`${fault} is unavailable, and what comes afterwards is answered`, async (t) => {
    for (const statement of refuse) await query(url, statement)
    await endConnections()
    for (const [what, ask] of Object.entries(requests)) {
      const answer = await ask(t)
      expectProblem(t, answer, 503, 'unavailable', what)
      t.match(answer.headers['retry-after'], /^\d+$/, what)
    }
    for (const statement of allow) await query(url, statement)
    for (const ask of Object.values(requests)) while ((await ask(t)).status === 503) await sleep(20)
    for (const [what, ask] of Object.entries(requests)) t.ok((await ask(t)).status < 300, what)
  })

/** The service connects again at once, and is refused. */
async function endConnections(): Promise<void> {
  const ofService = `datname = '${name}' and application_name like 'pricewell %'`
  await query(
    server,
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${ofService}`,
  )
}

function asOwner(url: string): string {
  const result = new URL(url)
  result.searchParams.set('user', name)
  return result.toString()
}
