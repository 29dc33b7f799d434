import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runFile } from '../helpers/process.ts'

const script = 'src/cli/licences.ts'

/** What the script says of a lock file with these packages. */
async function check(t: Test, packages: Record<string, object>) {
  const folder = mkdtempSync(join(tmpdir(), 'pricewell-lock-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'package-lock.json')
  writeFileSync(file, JSON.stringify({ packages: { '': {}, ...packages } }))
  return runFile(script, [file], {})
}

t.test(
  'every package that ships has a licence that is agreed to, and needs no script',
  async (t) => {
    const { code, stdout, stderr } = await runFile(script, [], {})
    t.equal(code, 0, stderr)
    t.match(stdout, /^fastify +5\.\d+\.\d+ +MIT$/m)
    t.notMatch(stdout, /^typescript /m, 'not what only developers need')
    const [, count] = /^(\d+) packages/m.exec(stdout) ?? []
    t.ok(Number(count) < 150, `${count} packages`)
  },
)

t.test('other licences are refused', async (t) => {
  const cases: [string | undefined, number][] = [
    ['MIT', 0],
    ['(MIT OR GPL-3.0)', 0],
    ['(MIT AND ISC)', 0],
    ['GPL-3.0', 1],
    ['(MIT AND GPL-3.0)', 1],
    ['SEE LICENSE IN LICENSE', 1],
    ['UNLICENSED', 1],
    [undefined, 1],
  ]
  for (const [license, code] of cases) {
    const one = { version: '1.0.0', ...(license && { license }) }
    const answer = await check(t, { 'node_modules/one': one })
    t.equal(answer.code, code, String(license))
    if (code === 1) t.match(answer.stderr, /^one: the licence .* is not allowed/)
    t.equal((await check(t, { 'node_modules/one': { ...one, dev: true } })).code, 0, 'developers')
  }
})

t.test('a package with an install script is refused', async (t) => {
  const one = { version: '1.0.0', license: 'MIT', hasInstallScript: true }
  const { code, stderr } = await check(t, { 'node_modules/a/node_modules/@x/one': one })
  t.equal(code, 1)
  t.match(stderr, /^@x\/one: has an install script/)
})
