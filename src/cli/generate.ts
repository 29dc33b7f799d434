import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { removeDataDir } from '../database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../database/embedded/postgres.ts'
import { migrate } from '../database/migrate.ts'

/** Files that are made from the contract and from the migrated schema. `--check` compares instead of writing. */
const generated: Record<string, (output: string) => Promise<void>> = {
  'openapi.d.ts': async (output) => generateContractTypes(output),
  // What a caller sends: keys with a default may be left out.
  'openapi-client.d.ts': async (output) =>
    generateContractTypes(output, '--default-non-nullable=false'),
  'openapi.json': async (output) => generateContractJson(output),
  'database.d.ts': generateDatabaseTypes,
}

const root = join(import.meta.dirname, '../..')
const isCheck = process.argv.includes('--check')
const outputDir = mkdtempSync(join(tmpdir(), 'pricewell-generate-'))
const stale: string[] = []
for (const [name, generate] of Object.entries(generated)) {
  const output = join(outputDir, name)
  await generate(output)
  const target = join(root, 'generated', name)
  if (!isCheck) writeFileSync(target, readFileSync(output))
  else if (!readFileSync(output).equals(readFileSync(target))) stale.push(`generated/${name}`)
}
rmSync(outputDir, { recursive: true })
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

async function generateDatabaseTypes(output: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-generate-'))
  const postgres = await startEmbeddedPostgres(dataDir, ['fsync=off'])
  try {
    await migrate(postgres.url)
    const mapping = { int8: 'number', numeric: 'number', date: 'string', timestamptz: 'Date' }
    run('kysely-codegen', [
      ...[
        '--url',
        postgres.url,
        '--dialect',
        'postgres',
        '--default-schema',
        'public',
        '--out-file',
        output,
      ],
      ...['--type-mapping', JSON.stringify(mapping), '--exclude-pattern', 'kysely_*'],
    ])
  } finally {
    await postgres.stop()
    removeDataDir(dataDir)
  }
}

function run(command: string, args: string[]): void {
  execFileSync(join(root, 'node_modules', '.bin', command), args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
