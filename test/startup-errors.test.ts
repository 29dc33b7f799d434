import { randomBytes } from 'node:crypto'
import dns from 'node:dns'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createWebServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../src/config.ts'
import { sessionSettings } from '../src/database/connection-setup.ts'
import { ConnectionFailed } from '../src/database/errors.ts'
import { databaseUrl } from '../src/database/server.ts'
import { startService } from '../src/service.ts'
import { startFault } from '../src/startup-errors.ts'
import { cloneDatabase, emptyDatabase, loginOf, query } from './helpers/database.ts'
import { openPooler } from './helpers/pooler.ts'
import { freshDataDir, runFile } from './helpers/process.ts'

const server = process.env.TEST_DATABASE_URL ?? ''
const name = `test_${randomBytes(8).toString('hex')}`
const given = { JWT_SECRET: 'x'.repeat(32), DATABASE_WAIT_SECONDS: '1', PORT: '0' }

/** Expects a start that ends with one line, which says what to do. */
async function refused(t: Test, settings: Record<string, string>, told: RegExp): Promise<void> {
  const fault = await startService(readConfig(settings)).then(
    ({ close }) => close(),
    (error: unknown) => startFault(error),
  )
  t.match(fault, /^Cannot start:\n- .*$/)
  t.match(fault, told)
}

const onDatabase = (url: string) => ({ ...given, DATABASE_URL: url })

async function listening(t: Test, listener: Server): Promise<number> {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.teardown(() => listener.close())
  return (listener.address() as AddressInfo).port
}

t.test('what listens and never answers ends the wait', async (t) => {
  const port = await listening(t, createServer())
  await refused(t, onDatabase(`postgresql://u@127.0.0.1:${port}/d`), /correct DATABASE_URL/)
})

t.test('what listens and is no PostgreSQL is named', async (t) => {
  const port = await listening(t, createWebServer())
  const url = `postgresql://u@127.0.0.1:${port}/d`
  await refused(t, onDatabase(url), /is no PostgreSQL.*correct DATABASE_URL/)
  await refused(t, onDatabase(`${url}?sslmode=verify-full`), /set sslmode in DATABASE_URL/)
})

t.test('a database that takes no more connections is told so', async (t) => {
  await query(server, `create role ${name}_full ${loginOf(server)} connection limit 0`)
  t.teardown(() => query(server, `drop role ${name}_full`))
  const url = new URL(databaseUrl(server, 'postgres'))
  url.searchParams.set('user', `${name}_full`)
  await refused(t, onDatabase(url.toString()), /too many connections.*take more connections/)
})

t.test('a database that lacks memory or disk is told so', (t) => {
  const faults: [code: string, message: string, told: RegExp][] = [
    ['53100', 'could not extend file', /make room on the disk/],
    ['53200', 'out of shared memory', /raise max_locks_per_transaction/],
  ]
  for (const [code, message, told] of faults)
    t.match(startFault(Object.assign(new Error(message), { code })), told)
  t.end()
})

t.test('a file of certificates that is missing is named', async (t) => {
  const url = `${databaseUrl(server, 'postgres')}&sslrootcert=/nowhere/ca.pem`
  await refused(t, onDatabase(url), /\/nowhere\/ca.pem.*correct sslrootcert in DATABASE_URL/)
})

t.test('a certificate that cannot be trusted is told so', (t) => {
  const faults: [code: string, message: string][] = [
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'unable to get local issuer certificate'],
    ['CERT_HAS_EXPIRED', 'certificate has expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames: "],
  ]
  for (const [code, message] of faults) {
    const told = startFault(new ConnectionFailed(Object.assign(new Error(message), { code })))
    t.match(told, /^Cannot start:\n- .*\(sslrootcert=<file>\) in DATABASE_URL/, code)
    t.ok(String(told).includes(message), code)
  }
  t.end()
})

t.test('a host that is none is that of HOST or of DATABASE_URL', async (t) => {
  const database = await cloneDatabase()
  t.teardown(() => database.drop())
  const settings = { ...onDatabase(database.url), HOST: 'no.such.host.invalid' }
  const { code, stderr } = await runFile('src/server.ts', [], settings)
  t.equal(code, 1)
  t.match(stderr, /Cannot start:\n- .*no\.such\.host\.invalid: correct HOST[^\n]*\n$/)
  t.notMatch(stderr, /\n {4}at /)
  // A name server that answers late is another fault.
  t.intercept(dns, 'lookup', {
    value: (host: string, _: unknown, done: (error: Error) => void) =>
      done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' })),
  })
  const url = 'postgresql://u@no.such.host.invalid/d'
  await refused(t, onDatabase(url), /no\.such\.host\.invalid: correct the host in DATABASE_URL/)
})

t.test('a user who does not own the database is told so', async (t) => {
  const database = await cloneDatabase()
  await query(server, `create role ${name} ${loginOf(server)}`)
  await query(server, `grant pricewell_app to ${name}`)
  t.teardown(async () => {
    await database.drop()
    await query(server, `drop role ${name}`)
  })
  const url = new URL(database.url)
  url.searchParams.set('user', name)
  await refused(t, onDatabase(url.toString()), /permission denied.*own the database/)
})

t.test('a database that is read-only or takes no connections is told so', async (t) => {
  const database = await cloneDatabase()
  t.teardown(() => database.drop())
  await query(server, `alter database ${database.name} set default_transaction_read_only = on`)
  await refused(t, onDatabase(database.url), /read-only.*can be written/)
  await query(server, `alter database ${database.name} with allow_connections false`)
  await refused(t, onDatabase(database.url), /let the database take connections/)
})

t.test('a database of another encoding than UTF8 is refused', async (t) => {
  const encoded = `encoding 'LATIN1' locale 'C' template template0`
  await query(server, `create database ${name} ${encoded}`)
  t.teardown(() => query(server, `drop database ${name}`))
  await refused(t, onDatabase(databaseUrl(server, name)), /is LATIN1: .*encoding 'UTF8'/)
})

t.test('a database that has such tables already is told so', async (t) => {
  const { url, drop } = await emptyDatabase()
  t.teardown(drop)
  await query(url, 'create table users (id bigint)')
  await refused(t, onDatabase(url), /"users" already exists: .*a database of its own/)
})

t.test('a database without a schema for the tables is told so', async (t) => {
  const { url, drop } = await emptyDatabase()
  t.teardown(drop)
  await query(url, 'drop schema public')
  await refused(t, onDatabase(url), /no schema .*: run "create schema public"/)
})

t.test('a database that a newer version has migrated is told so', async (t) => {
  const { url, drop } = await cloneDatabase()
  t.teardown(drop)
  await query(url, `insert into kysely_migration values ('9999_newer', now()::text)`)
  await refused(t, onDatabase(url), /migration 9999_newer.*the version that was last used/)
})

t.test('a pooler is told so where the database has the same settings by itself', async (t) => {
  const database = await cloneDatabase()
  t.teardown(() => database.drop())
  const name = new URL(database.url).pathname.slice(1)
  for (const [key, value] of Object.entries(sessionSettings))
    await query(server, `alter database ${name} set ${key} = '${value}'`)
  const pooler = await openPooler(t, database.url, 'dropping')
  await refused(t, onDatabase(pooler), /settings .* do not reach the database \(app.connection\)/)
})

t.test(
  'a pooler that refuses the settings of connections, or drops them, is told so',
  async (t) => {
    const database = await cloneDatabase()
    t.teardown(() => database.drop())
    for (const [pooler, told] of [
      ['refusing', /unsupported startup parameter: options: .*PostgreSQL itself/],
      ['dropping', /do not reach the database \(.*search_path.*PostgreSQL itself/],
    ] as const)
      await refused(t, onDatabase(await openPooler(t, database.url, pooler)), told)
  },
)

t.test('a DATA_DIR that is a file, or a link to no folder, is told so', async (t) => {
  const path = join(freshDataDir(t), 'file')
  writeFileSync(path, '')
  const link = join(freshDataDir(t), 'link')
  symlinkSync('/nowhere/data', link)
  for (const dataDir of [path, join(path, 'below'), link, join(link, 'below')])
    await refused(t, { DATA_DIR: dataDir, PORT: '0' }, /set DATA_DIR to a folder/)
})

t.test(
  'a folder for temporary files that is not there, or no place for a socket, is told so',
  async (t) => {
    const { TMPDIR } = process.env
    t.teardown(() => {
      if (TMPDIR === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = TMPDIR
    })
    for (const [folder, told] of [
      ['/nowhere', /\/nowhere\/.*set TMPDIR to a folder/],
      [`/${'x'.repeat(90)}`, /x is too long for the path of a socket: set TMPDIR to a shorter one/],
    ] as const) {
      const settings = { DATA_DIR: freshDataDir(t), PORT: '0' }
      process.env.TMPDIR = folder
      await refused(t, settings, told)
      process.env.TMPDIR = TMPDIR ?? '/tmp'
    }
  },
)
