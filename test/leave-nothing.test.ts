import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { collectTeardowns } from './helpers/leave-nothing.ts'
import { childEnvironment, ends, postmasterPid, runFile } from './helpers/process.ts'

t.test('what was made is taken away last one first, whatever one of it comes to', async (t) => {
  const taken: string[] = []
  const { teardown, takeAway } = collectTeardowns()
  teardown(() => taken.push('first'))
  teardown(async () => {
    await sleep(1)
    throw new Error('it is held')
  })
  teardown(() => taken.push('last'))
  t.match(await takeAway(), [{ message: 'it is held' }])
  teardown(() => taken.push('late'))
  await takeAway()
  t.strictSame(taken, ['last', 'first', 'late'])
})

t.test('a command that is broken off leaves no folder and no PostgreSQL', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'pricewell-left-'))
  chmodSync(folder, 0o777)
  t.teardown(() => rmSync(folder, { recursive: true }))
  const env = childEnvironment({ TMPDIR: folder })
  const child = spawn(process.execPath, ['test/verify/fuzz/run.ts', '--runs', '100000'], { env })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  const dataDir = readdirSync(folder).find((name) => name.startsWith('pricewell-fuzz-'))
  const pid = postmasterPid(join(folder, dataDir ?? ''))
  // A terminal and npm both send it.
  child.kill('SIGINT')
  child.kill('SIGINT')
  t.strictSame(await exited, [1, null])
  t.strictSame(readdirSync(folder), [])
  t.ok(pid && (await ends(pid)), `process ${pid}`)
})

t.test('a command that is asked for nothing fails, and says what there is', async (t) => {
  const asked: [string, string[], RegExp][] = [
    ['chaos', ['--runs', '0'], /a whole number from 1 on/],
    ['chaos', ['--only', 'typo'], /There are: .*kill-service/],
    ['fuzz', ['--planted', '--only', 'typo'], /There are: .*upsertSales/],
    ['overload', ['typo'], /There are: .*memory/],
    ['bench', ['--only', 'typo'], /There are: .*read 100/],
  ]
  for (const [name, args, message] of asked) {
    const { code, stderr } = await runFile(`test/verify/${name}/run.ts`, args, {})
    t.equal(code, 1, name)
    t.match(stderr, message)
  }
})
