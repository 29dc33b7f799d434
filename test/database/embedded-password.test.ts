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

t.test(
  'a password file that is not that of the database ends the start, with what to do',
  async (t) => {
    const dataDir = freshDataDir(t)
    const first = await startEmbeddedPostgres(dataDir)
    await first.stop()
    rmSync(passwordOf(dataDir))
    const fault = await startEmbeddedPostgres(dataDir).then(({ stop }) => stop(), startFault)
    t.match(fault, /^Cannot start:\n- .*postgres-password is not that of the database.*put .* back/)
    const rules = readFileSync(rulesOf(dataDir), 'utf8')
    writeFileSync(rulesOf(dataDir), `local all all trust\n${rules}`)
    const { url, stop } = await startEmbeddedPostgres(dataDir)
    const password = readFileSync(passwordOf(dataDir), 'utf8')
    await select(url, `alter role postgres password '${password}'`)
    await stop()
    writeFileSync(rulesOf(dataDir), rules)
    const again = await startEmbeddedPostgres(dataDir)
    await expectPasswords(t, again.url)
    await again.stop()
  },
)
