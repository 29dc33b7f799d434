import { readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startEmbeddedPostgres } from '../../src/database/embedded/postgres.ts'
import { startFault } from '../../src/startup-errors.ts'
import { freshDataDir } from '../helpers/process.ts'
import { select } from '../helpers/sql.ts'

const passwordOf = (dataDir: string) => join(dataDir, 'postgres-password')
const rulesOf = (dataDir: string) => join(dataDir, 'postgres', 'pg_hba.conf')

/** The methods of the lines that are no comments. */
const methodsOf = (dataDir: string) =>
  readFileSync(rulesOf(dataDir), 'utf8')
    .split('\n')
    .filter((line) => /^[^#\s]/.test(line))
    .map((line) => line.trim().split(/\s+/).at(-1))

function withPassword(url: string, password: string): string {
  const result = new URL(url)
  result.password = password
  return result.toString()
}

async function expectPasswords(t: Test, url: string): Promise<void> {
  t.strictSame(await select(url, 'select 1 as one'), [{ one: 1 }])
  await t.rejects(select(withPassword(url, 'wrong'), 'select'), { code: '28P01' })
}

/** As an earlier version leaves a data directory: whoever reaches the socket is let in, and there is no password. */
async function makeTrusting(dataDir: string, url: string): Promise<void> {
  const rules = '# by hand\nlocal all all trust\nhost all all all reject\nlocal x y peer # trust\n'
  writeFileSync(rulesOf(dataDir), rules)
  rmSync(passwordOf(dataDir))
  await select(url, 'select pg_reload_conf(); alter role postgres password null')
  for (let isIn = false; !isIn; )
    isIn = await select(withPassword(url, ''), 'select').then(
      () => true,
      () => false,
    )
}

t.test('nobody is let in without the password, which only its owner can read', async (t) => {
  const dataDir = freshDataDir(t)
  const { url, stop } = await startEmbeddedPostgres(dataDir)
  await expectPasswords(t, url)
  t.strictSame(new Set(methodsOf(dataDir)), new Set(['scram-sha-256']))
  const { mode, uid } = statSync(passwordOf(dataDir))
  t.equal(mode & 0o777, 0o600)
  t.equal(uid, process.getuid?.())
  const password = readFileSync(passwordOf(dataDir), 'utf8')
  t.equal(new URL(url).password, password)
  t.ok(password.length >= 64)
  t.strictSame(await select(url, 'show listen_addresses'), [{ listen_addresses: '' }])
  const socketDir = new URL(url).searchParams.get('host') ?? ''
  t.equal(statSync(socketDir).mode & 0o777, 0o700, 'a folder of its own')
  t.equal(statSync(socketDir).uid, statSync(realpathSync(join(dataDir, 'postgres'))).uid)
  await stop()
  t.notMatch(readFileSync(join(dataDir, 'postgres', 'server.log'), 'utf8'), password)
  const again = await startEmbeddedPostgres(dataDir)
  t.equal(new URL(again.url).password, password, 'it stays')
  await again.stop()
})

t.test('a data directory of an earlier version gets a password when it is started', async (t) => {
  const dataDir = freshDataDir(t)
  const first = await startEmbeddedPostgres(dataDir)
  await select(first.url, 'create table kept (id integer)')
  await makeTrusting(dataDir, first.url)
  await first.stop()
  const { url, stop } = await startEmbeddedPostgres(dataDir)
  await expectPasswords(t, url)
  t.strictSame(
    readFileSync(rulesOf(dataDir), 'utf8'),
    '# by hand\nlocal all all scram-sha-256\nhost all all all reject\nlocal x y peer # trust\n',
  )
  const { mode, uid } = statSync(rulesOf(dataDir))
  t.strictSame([mode & 0o777, uid], [0o600, statSync(`${realpathSync(dataDir)}/postgres/`).uid])
  t.strictSame(await select(url, 'select id from kept'), [])
  await stop()
  const log = readFileSync(join(dataDir, 'postgres', 'server.log'), 'utf8')
  t.notMatch(log, readFileSync(passwordOf(dataDir), 'utf8'))
  const again = await startEmbeddedPostgres(dataDir)
  await expectPasswords(t, again.url)
  await again.stop()
})

t.test('a password file that is not that of the database ends the start plainly', async (t) => {
  const dataDir = freshDataDir(t)
  const first = await startEmbeddedPostgres(dataDir)
  await first.stop()
  rmSync(passwordOf(dataDir))
  const fault = await startEmbeddedPostgres(dataDir).then(({ stop }) => stop(), startFault)
  t.match(fault, /^Cannot start:\n- .*postgres-password is not that of the database.*put .* back/)
  writeFileSync(rulesOf(dataDir), 'local all all trust\n')
  const { url, stop } = await startEmbeddedPostgres(dataDir)
  await expectPasswords(t, url)
  await stop()
})
