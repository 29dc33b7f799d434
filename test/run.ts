import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { databaseUrl } from '../src/database/server.ts'
import { createTemplate, template } from './helpers/database.ts'
import { leaveNothing } from './helpers/leave-nothing.ts'
import { startOwnPostgres } from './helpers/own-postgres.ts'
import { freshDataDir } from './helpers/process.ts'
import { findUnroutable } from './helpers/routable.ts'

/** Files that run alone: they start processes, break PostgreSQL or check which modules are loaded. */
const ownProcess = ['chaos', 'crash', 'fuzz', 'package', 'tracing.test.ts']
const filesPerProcess = 16

/**
 * Runs the tests on a new embedded PostgreSQL, or on that of TEST_DATABASE_URL (a superuser, database `postgres`).
 * Arguments go to tap: `npm test -- test/prices/get-prices.test.ts`.
 */
const command = leaveNothing()
const dir = freshDataDir(command, 'report')
const given = process.env.TEST_DATABASE_URL
// Creating and dropping a database scans all buffers; the default is a quarter of the memory.
const settings = ['fsync=off', 'max_connections=300', 'shared_buffers=128MB']
const url = given ?? (await startOwnPostgres(command, 'test', settings)).url
await createTemplate(url)

const tap = join(import.meta.dirname, '../node_modules/.bin/tap')
// Compiling the same modules in each process would take a tenth of the time.
const compiled = join(dir, 'compiled')
const statements = join(dir, 'statements')
const env = {
  ...process.env,
  TEST_DATABASE_URL: url,
  TEST_STATEMENTS: statements,
  NODE_COMPILE_CACHE: compiled,
}
const report = join(dir, 'report.tap')
const chosen = process.argv.slice(2)
const files = chosen.length > 0 ? chosen : groupedFiles()
const untracked = `--node-arg=--import=${join(import.meta.dirname, 'helpers/untracked-promises.ts')}`
const child = spawn(tap, ['run', `--output-file=${report}`, untracked, ...files], {
  // Ctrl-C reaches only this process, which then asks the tests to stop and run their teardowns.
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
// The last line of a long run names the failed tests.
const which = failed.length > 0 ? `: ${outermostFirst.join(' > ')}` : ''
console.log(`${summary?.[1] ?? 0} passed, ${summary?.[2] ?? 0} failed${which}`)
const unroutable = await findUnroutable(databaseUrl(url, template), statements)
for (const statement of unroutable) console.log(`not on one node of a cluster: ${statement}`)
await command.end(status === 0 && unroutable.length === 0)

/** All test files; those that may share a process are grouped by folder in generated files. */
function groupedFiles(): string[] {
  const files = globSync('test/**/*.test.ts', { exclude: ['test/browser'] }).sort()
  const isAlone = (file: string) =>
    dirname(file) === 'test' || file.split('/').some((part) => ownProcess.includes(part))
  // tap writes the results of files outside of the clone beside it, or above it.
  mkdirSync('.tap', { recursive: true })
  const groupsDir = mkdtempSync('.tap/groups-')
  command.teardown(() => rmSync(groupsDir, { recursive: true }))
  const folders = Map.groupBy(
    files.filter((file) => !isAlone(file)),
    dirname,
  )
  const groups = [...folders].flatMap(([folder, files]) => {
    const count = Math.ceil(files.length / filesPerProcess)
    return Array.from({ length: count }, (_, number) =>
      writeGroup(
        groupsDir,
        `${folder}-${number + 1}`,
        files.filter((_, index) => index % count === number),
      ),
    )
  })
  return [...groups, ...files.filter(isAlone)]
}

function writeGroup(groupsDir: string, name: string, files: string[]): string {
  const group = join(groupsDir, `${name.replaceAll('/', '-')}.test.ts`)
  const helper = join(import.meta.dirname, 'helpers/one-process.ts')
  const paths = JSON.stringify(files.map((file) => join(process.cwd(), file)))
  writeFileSync(
    group,
    `import { runInOneProcess } from '${helper}'\nawait runInOneProcess(${paths})\n`,
  )
  return group
}
