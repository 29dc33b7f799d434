import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextLoop } from 'node:timers/promises'
import { createAccount } from '../../src/accounts/create-account.ts'
import { createClient, type PricewellClient, type Schemas } from '../../src/client/index.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { onOneConnection } from '../../src/database/connection-setup.ts'
import { removeDataDir } from '../../src/database/embedded/cluster.ts'
import { type Service, startService } from '../../src/service.ts'
import { closeMaxMs, closeOnce } from '../../src/shutdown.ts'
import { CannotListen, startFault } from '../../src/startup-errors.ts'
import { changePrices, loadDemo, planPrices } from './load-demo.ts'
import { demoColleague, demoUser, retail, withMadeUp } from './made-up.ts'
import { readShop } from './online-retail.ts'

const usage = `npm run demo starts a service with a week of real sales on a database of its own, and deletes it on Ctrl-C.

The environment configures it: PORT (3000) and HOST (127.0.0.1) say where it listens.`
readArguments()
let starting: Promise<Service> | undefined
let isEnding = false
closeOnce(closeMaxMs, async ({ err }) => {
  isEnding = true
  if (err) console.error(startFault(err))
  const service = await starting?.catch(() => undefined)
  await service?.close()
  removeDataDir(dataDir)
})
const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-demo-'))
try {
  console.log('Starting a service on a database that is thrown away at the end ...')
  const config = readConfig({
    LOG_LEVEL: 'error',
    ...process.env,
    DATABASE_URL: undefined,
    DATA_DIR: dataDir,
  })
  starting = startService(config)
  await demonstrate(await starting, config)
} catch (error) {
  // Requests fail while the service shuts down; a terminal's signal may reach PostgreSQL first.
  await nextLoop()
  if (!isEnding) throw error
}

/** Exits if there are any arguments. */
function readArguments(): void {
  const [first] = process.argv.slice(2)
  if (first === undefined) return
  const isHelp = first === '--help' || first === '-h'
  if (!isHelp) console.error(`The demonstration takes no argument "${first}".`)
  console.log(usage)
  process.exit(isHelp ? 0 : 2)
}

async function demonstrate({ app, server }: Service, { port, host }: Config): Promise<void> {
  const url = await app.listen({ port, host }).catch((error) => {
    throw new CannotListen(error)
  })
  await createAccount(server.url, { account: 'demo', ...demoUser })
  await createAccount(server.url, { account: 'demo', ...demoColleague })
  const { token } = await logIn(url, demoUser)
  const client = createClient({ baseUrl: url, token })

  const shop = readShop()
  console.log(
    '\nOnline Retail, 1 to 7 December 2010 (Daqing Chen, UCI Machine Learning Repository, doi 10.24432/C5BW33, CC BY 4.0)',
  )
  console.table(
    Object.fromEntries([...shop.skipped].map(([reason, count]) => [reason, { rows: count }])),
  )
  console.log('Costs, promotions, competitors, agreements and the rental list are made up.')
  await loadDemo(client, withMadeUp(shop))
  const colleague = createClient({ baseUrl: url, ...(await logIn(url, demoColleague)) })
  await inThePast(server.url, await changePrices(client, colleague, withMadeUp(shop)))
  await planPrices(client)
  await showPrices(client)
  console.log(`
To look around, open ${url}/
    e-mail    ${demoUser.email}
    password  ${demoUser.password}

Documentation and a console for its examples: ${url}/docs
Authorize there with:

jwt ${token}

Ctrl-C stops the service and deletes its data.`)
}

async function logIn(url: string, user: { email: string; password: string }) {
  return (await createClient({ baseUrl: url }).POST('/login/', { body: user })).data
}

/** Dates the last four revisions of a list 1 to 16 days ago, and all earlier ones 21 days ago. */
async function inThePast(url: string, list: number): Promise<void> {
  await onOneConnection(url, (client) =>
    client.query(
      `update list_revisions v
       set at = now() - make_interval(days => 1 + 5 * least(l.version - v.revision, 4), mins => l.version - v.revision)
       from price_lists l where l.account_id = v.account_id and l.id = v.price_list_id and l.id = ${list}`,
    ),
  )
}

async function showPrices(client: PricewellClient): Promise<void> {
  const read = async (payload: Schemas['GetPricesRow'][]) => {
    const body = { price_list_name: retail, include: ['base_price' as const], payload }
    return (await client.POST('/api/v1/prices/get_prices/', { body })).data
  }
  const exact = await read([
    { code: '22423', country: 'United Kingdom', price_dimension: 'retail' },
  ])
  const ofCode = await read([{ code: '22423', price_dimension: 'wholesale' }])
  const ofCountry = await read([{ country: 'EIRE', price_dimension: 'retail' }])
  show('One product in one country', exact)
  show('The same product in every country of the list', ofCode)
  show(`Everything sold in EIRE, the first 5 of ${ofCountry.length}`, ofCountry.slice(0, 5))
}

function show(title: string, rows: Record<string, unknown>[]): void {
  console.log(`\n${title}`)
  console.table(
    rows.map(({ code, country, price_dimension, base_price, active_price, pk }) => ({
      code,
      country,
      price_dimension,
      base_price,
      active_price,
      pk,
    })),
  )
}
