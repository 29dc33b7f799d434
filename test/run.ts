import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeDataDir } from '../src/database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../src/database/embedded/postgres.ts'
import { createTemplate } from './helpers/database.ts'

/**
 * Runs the tests on a PostgreSQL of their own: `npm test` starts the embedded one, TEST_DATABASE_URL names another
 * (a superuser, its `postgres` database). Arguments go to tap: `npm test -- test/prices/get-prices.test.ts`.
 */
const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-test-'))
const given = process.env.TEST_DATABASE_URL
const postgres = given
  ? undefined
  : await startEmbeddedPostgres(dataDir, ['fsync=off', 'max_connections=300'])
const url = given ?? postgres?.url ?? ''
await createTemplate(url)

const tap = join(import.meta.dirname, '../node_modules/.bin/tap')
// Each test file is a process: without the cache it spends a tenth of its time on compiling what the last one did, too.
const compiled = join(dataDir, 'compiled')
const env = { ...process.env, TEST_DATABASE_URL: url, NODE_COMPILE_CACHE: compiled }
const report = join(dataDir, 'report.tap')
const child = spawn(tap, ['run', `--output-file=${report}`, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env,
})
const status = await new Promise<number>((resolve) =>
  child.on('exit', (code) => resolve(code ?? 1)),
)
const results = readFileSync(report, 'utf8')
const summary = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?/m.exec(results)
const failed = [...results.matchAll(/^ *not ok \d+ - (.*?)(?: # time=\S+)?(?: \{)?$/gm)]
const outermostFirst = failed.map(([, name]) => name).reverse()
// Of a long run's output the last line may be all that is kept: it says which ones.
const which = failed.length > 0 ? `: ${outermostFirst.join(' > ')}` : ''
console.log(`${summary?.[1] ?? 0} passed, ${summary?.[2] ?? 0} failed${which}`)
await postgres?.stop()
removeDataDir(dataDir)
process.exit(status)
