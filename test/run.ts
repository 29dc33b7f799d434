import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTemplate } from './helpers/database.ts'
import { leaveNothing } from './helpers/leave-nothing.ts'
import { startOwnPostgres } from './helpers/own-postgres.ts'
import { freshDataDir } from './helpers/process.ts'

/**
 * Runs the tests on a PostgreSQL of their own: `npm test` starts the embedded one, TEST_DATABASE_URL names another
 * (a superuser, its `postgres` database). Arguments go to tap: `npm test -- test/prices/get-prices.test.ts`.
 */
const command = leaveNothing()
const dir = freshDataDir(command, 'report')
const given = process.env.TEST_DATABASE_URL
const settings = ['fsync=off', 'max_connections=300']
const url = given ?? (await startOwnPostgres(command, 'test', settings)).url
await createTemplate(url)

const tap = join(import.meta.dirname, '../node_modules/.bin/tap')
// Each test file is a process: without the cache it spends a tenth of its time on compiling what the last one did, too.
const compiled = join(dir, 'compiled')
const env = { ...process.env, TEST_DATABASE_URL: url, NODE_COMPILE_CACHE: compiled }
const report = join(dir, 'report.tap')
const child = spawn(tap, ['run', `--output-file=${report}`, ...process.argv.slice(2)], {
  // Ctrl-C reaches only us: the tests are told to give up, and take away what they have made.
  detached: true,
  stdio: 'inherit',
  env,
})
const exited = once(child, 'exit')
command.teardown(async () => {
  if (child.kill('SIGALRM')) await exited
})
const [status] = await exited
const results = readFileSync(report, 'utf8')
const summary = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?/m.exec(results)
const failed = [...results.matchAll(/^ *not ok \d+ - (.*?)(?: # time=\S+)?(?: \{)?$/gm)]
const outermostFirst = failed.map(([, name]) => name).reverse()
// Of a long run's output the last line may be all that is kept: it says which ones.
const which = failed.length > 0 ? `: ${outermostFirst.join(' > ')}` : ''
console.log(`${summary?.[1] ?? 0} passed, ${summary?.[2] ?? 0} failed${which}`)
await command.end(status === 0)
