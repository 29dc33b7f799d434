import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '../../..')
const contract = join(root, 'openapi.yaml')

const tsconfig = {
  compilerOptions: {
    module: 'nodenext',
    target: 'esnext',
    lib: ['esnext', 'dom', 'dom.iterable'],
    strict: true,
    noUncheckedIndexedAccess: true,
    rewriteRelativeImportExtensions: true,
    types: ['node'],
    skipLibCheck: true,
    outDir: 'built',
    rootDir: '.',
  },
}

/** Generates the clients and compiles a first day's work with each; returns the compiled files. */
export function buildClients(dir: string, url: string): Record<string, string> {
  cpSync(join(import.meta.dirname, 'days'), dir, { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
  mkdirSync(join(dir, 'generated'))
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(tsconfig))
  const generated = join(dir, 'generated')
  const output = ['--output', join(generated, 'openapi-fetch.ts')]
  run(dir, 'openapi-typescript', [contract, ...output, '--default-non-nullable=false'])
  run(dir, 'openapi-ts', ['--input', contract, '--output', join(generated, 'hey-api')])
  writeFileSync(join(dir, 'json-contract.json'), JSON.stringify(jsonContract()))
  writeFileSync(join(dir, 'orval.config.mjs'), orvalConfig(join(generated, 'orval.ts'), url))
  run(dir, 'orval', ['--config', 'orval.config.mjs'])
  run(dir, 'tsc', ['--project', '.'])
  const names = ['openapi-fetch', 'hey-api', 'orval']
  return Object.fromEntries(names.map((name) => [name, join(dir, 'built', `${name}.js`)]))
}

/** The contract without file answers: the generator would type every answer as JSON or text. */
function jsonContract(): object {
  const isOfFiles = /^(text\/csv|application\/(x-ndjson|vnd\.pricewell\.feed\+json))$/
  const parameterOfFiles = /\/(FeedListName|FeedListId|Prefer)$/
  return JSON.parse(JSON.stringify(parse(readFileSync(contract, 'utf8'))), (key, value) => {
    if (isOfFiles.test(key) || key === '202') return undefined
    if (key !== 'parameters' || !Array.isArray(value)) return value
    return value.filter(({ $ref = '' }) => !parameterOfFiles.test($ref))
  })
}

/** This generator writes the service's URL into its functions. */
function orvalConfig(target: string, baseUrl: string): string {
  const output = { target, client: 'fetch', baseUrl }
  return `export default ${JSON.stringify({ pricewell: { input: 'json-contract.json', output } })}\n`
}

function run(cwd: string, command: string, args: string[]): void {
  const bin = join(root, 'node_modules', '.bin', command)
  execFileSync(process.execPath, [bin, ...args], { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
}
