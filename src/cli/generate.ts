import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { removeDataDir } from '../database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../database/embedded/postgres.ts'
import { migrate } from '../database/migrate.ts'
import { dumpSchema } from './dump-schema.ts'

/** Files generated from the contract and the migrated schema. `--check` compares them instead of writing. */
const generated: Record<string, (output: string, databaseUrl: string) => Promise<void>> = {
  'openapi.d.ts': async (output) => generateContractTypes(output),
  // For callers, who may leave out keys with a default.
  'openapi-client.d.ts': async (output) =>
    generateContractTypes(output, '--default-non-nullable=false'),
  'openapi.json': async (output) => generateContractJson(output),
  'database.d.ts': async (output, url) => generateDatabaseTypes(output, url),
  'schema.sql': generateSchema,
}

const schemaHeader = `-- The schema after all migrations, made by \`npm run generate\`; change it in migrations/.
-- The tables of the job queue (schema pgboss) are made by pg-boss.
-- Functions come before the tables that they name.
SET check_function_bodies = false;
`
const root = join(import.meta.dirname, '../..')
const isCheck = process.argv.includes('--check')
const outputDir = mkdtempSync(join(tmpdir(), 'pricewell-generate-'))
const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-generate-'))
const stale: string[] = []
const postgres = await startEmbeddedPostgres(dataDir, ['fsync=off'])
try {
  await migrate(postgres.url)
  for (const [name, generate] of Object.entries(generated)) {
    const output = join(outputDir, name)
    await generate(output, postgres.url)
    const target = join(root, 'generated', name)
    if (!isCheck) writeFileSync(target, readFileSync(output))
    else if (!isSame(output, target)) stale.push(`generated/${name}`)
  }
} finally {
  await postgres.stop()
  removeDataDir(dataDir)
  rmSync(outputDir, { recursive: true })
}
if (stale.length > 0) {
  console.error(`Stale: ${stale.join(', ')}. Run \`npm run generate\` and commit the result.`)
  process.exit(1)
}

function generateContractTypes(output: string, ...options: string[]): void {
  const contract = ['openapi.yaml', '--redocly', '.redocly.yaml']
  run('openapi-typescript', [...contract, '--output', output, ...options])
}

function generateContractJson(output: string): void {
  const contract = parse(readFileSync(join(root, 'openapi.yaml'), 'utf8'))
  writeFileSync(output, `${JSON.stringify(contract)}\n`)
}

function generateDatabaseTypes(output: string, url: string): void {
  const mapping = { int8: 'number', numeric: 'number', date: 'string', timestamptz: 'Date' }
  const database = ['--url', url, '--dialect', 'postgres', '--default-schema', 'public']
  const types = ['--type-mapping', JSON.stringify(mapping), '--exclude-pattern', 'kysely_*']
  run('kysely-codegen', [...database, ...types, '--out-file', output])
}

async function generateSchema(output: string, url: string): Promise<void> {
  writeFileSync(output, `${schemaHeader}\n${await dumpSchema(url)}`)
}

function isSame(output: string, target: string): boolean {
  return existsSync(target) && readFileSync(output).equals(readFileSync(target))
}

function run(command: string, args: string[]): void {
  execFileSync(join(root, 'node_modules', '.bin', command), args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
