import { setImmediate as nextLoop, setTimeout as sleep } from 'node:timers/promises'
import { createAccount, EmailTaken, hasAccounts } from './accounts/create-account.ts'
import { type Config, readConfig } from './config.ts'
import { whenAvailable } from './database/server.ts'
import { type Service, startService } from './service.ts'
import { closeMaxMs, closeOnce, type Ending } from './shutdown.ts'
import { CannotListen, startFault } from './startup-errors.ts'

/** After SIGTERM, requests keep arriving until load balancers notice that the process is not ready. */
const farewellMs = 1000
/** A container is killed after 30 seconds. */
const graceMs = farewellMs + closeMaxMs

/** Private to Node, which has no other way to write to a terminal without blocking. */
interface Handle {
  setBlocking(isBlocking: boolean): void
}

// The service keeps running without its log when the disk is full or the reader is gone.
for (const output of [process.stdout, process.stderr])
  output.removeAllListeners('error').on('error', () => undefined)

// A stopped terminal (Ctrl-S) would block the process at its next line of output.
for (const { _handle } of [process.stdout, process.stderr] as { _handle?: Partial<Handle> }[])
  _handle?.setBlocking?.(false)

// Without a listener, Node would open its debugger and expose the secrets of the process.
process.on('SIGUSR1', () => undefined)

const unwanted = new AbortController()
let service: Service | undefined
let opening: Promise<void> | undefined
try {
  const config = readConfig(process.env)
  const starting = startService(config, unwanted.signal)
  closeOnce(graceMs, async (end) => {
    unwanted.abort()
    if (service) await close(service, end)
    else await endStart(starting, config, end)
  })
  service = await starting
  void service.server.died.then(endWithoutDatabase)
  if (!unwanted.signal.aborted) opening = open(service, config)
  await opening
} catch (error) {
  // A terminal's signal may end a process that startup waits for before this process receives it.
  await nextLoop()
  if (!unwanted.signal.aborted) {
    await service?.close()
    console.error(startFault(error))
    process.exit(1)
  }
}

async function close(service: Service, { err, signal }: Ending): Promise<void> {
  if (err) service.app.log.fatal({ err }, 'stopping after an unexpected error')
  service.retire()
  if (signal === 'SIGTERM') await sleep(farewellMs)
  await opening?.catch(() => undefined)
  await service.close()
}

/** The embedded PostgreSQL was killed, for example by the OOM killer; the next start recovers the database. */
function endWithoutDatabase(): void {
  console.error(
    'The embedded PostgreSQL has ended, so the service ends too. Start the service again: nothing that was acknowledged is lost. The log of PostgreSQL is server.log in DATA_DIR/postgres.',
  )
  process.exit(1)
}

/** Stops the embedded PostgreSQL, if any; an external one notices that its connections are gone. */
async function endStart(
  starting: Promise<Service>,
  { databaseUrl }: Config,
  { err }: Ending,
): Promise<void> {
  if (err) console.error(startFault(err))
  if (databaseUrl === undefined)
    await starting.then(
      ({ close }) => close(),
      () => undefined,
    )
}

async function open({ app, server }: Service, config: Config): Promise<void> {
  const { port, host, role, metricsToken, load } = config
  const listenTextResolver = (address: string) => `listening on ${address}`
  // A client that finds the backlog full retries after seconds instead of being refused immediately.
  const backlog = load.socketsMax
  const listen = () =>
    app.listen({ port, host, backlog, listenTextResolver }).catch((error) => {
      throw new CannotListen(error)
    })
  if (role !== 'worker') {
    const url = await listen()
    console.log(
      `Pricewell listens on ${url}\nPage: ${url}/\nDocumentation and a console: ${url}/docs`,
    )
  } else {
    if (metricsToken) console.log(`Metrics and health: ${await listen()}`)
    console.log('Pricewell takes background jobs.')
  }
  if (server.isEmbedded)
    await whenAvailable(() => announceFirstAccount(server.url), {
      seconds: config.databaseWaitSeconds,
      onWait: (err) => app.log.warn({ err }, 'waiting for the database'),
    })
}

/** Prints the password once, and not to the log, because it is stored nowhere. */
async function announceFirstAccount(url: string): Promise<void> {
  if (await hasAccounts(url)) return
  const first = { account: 'first', email: 'admin@example.com' }
  const user = await createAccount(url, first).catch((error) => {
    // Another process that started at the same time prints it.
    if (!(error instanceof EmailTaken)) throw error
  })
  if (!user) return
  const { email, password } = user
  console.log(
    `\nYour first account (shown this once):\n  e-mail    ${email}\n  password  ${password}\n`,
  )
}
