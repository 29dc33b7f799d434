import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { jwtSecret } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aUser } from '../helpers/user.ts'

const root = join(import.meta.dirname, '../..')
const service = await sharedService()
const url = service.app.listeningOrigin
const project = join(t.testdir({}), 'project')
const packed = join(project, 'node_modules', 'pricewell')
const bin = join(packed, 'bin', 'pricewell.js')

/** The Node that people have, where there is another one than ours. */
const node = (process.env.PATH ?? '')
  .split(':')
  .filter((dir) => !dir.includes('node_modules'))
  .flatMap((dir) => (safeList(dir).includes('node') ? [join(dir, 'node')] : []))
  .concat(process.execPath)[0] as string

packInto(packed)
linkDependencies()

t.test('a project of somebody else compiles against the client and runs', async (t) => {
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
  cpSync(join(import.meta.dirname, 'shop.ts'), join(project, 'shop.ts'))
  const strict = '--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess'.split(' ')
  const options = '--module nodenext --lib es2023,dom,dom.asynciterable --types node'.split(' ')
  await runIn(project, [join(root, 'node_modules/.bin/tsc'), 'shop.ts', ...strict, ...options])
  const { email, password } = await aUser(service)
  t.equal(
    await runIn(project, ['shop.js', url, email, password]),
    'about A: 2.5, then /0/quantity format\n',
  )
})

t.test('the command line runs where it is installed', async (t) => {
  const { email, password } = await aUser(service)
  const HOME = t.testdir({})
  const env = { HOME, PRICEWELL_URL: url }
  t.match(
    await runIn(project, [bin, 'login', '--email', email, '--password', password], env),
    /Logged in/,
  )
  t.equal(await runIn(project, [bin, 'jobs', '--json'], env), '[]\n')
})

t.test('the service runs where it is installed, with its contract and migrations', async (t) => {
  const PATH = process.env.PATH
  const env = { PATH, DATABASE_URL: service.url, JWT_SECRET: jwtSecret, PORT: '0' }
  const args = ['account', 'create', '--account', 'A', '--email', 'packed@example.com', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, [bin, ...args], { env })
  t.match(JSON.parse(stdout), { account: 'A' })
  const child = spawn(process.execPath, [bin, 'serve'], { cwd: project, env })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  while (!output.includes('/docs') && child.exitCode === null) await once(child.stdout, 'data')
  const [, address] = /listens on (\S+)/.exec(output) ?? []
  const contract = await fetch(`${address}/openapi.yaml`)
  t.equal(await contract.text(), readFileSync(join(root, 'openapi.yaml'), 'utf8'))
  for (const file of ['', 'page/style.css', 'page/main.js', 'page/views/login.js']) {
    const source = join(root, 'src', file || 'page/index.html')
    t.equal(await (await fetch(`${address}/${file}`)).text(), readFileSync(source, 'utf8'), file)
  }
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('on a Node that is too old for the service, serve says so', async (t) => {
  const major = Number(execFileSync(node, ['-p', 'process.versions.node']).toString().split('.')[0])
  if (major >= 22) return t.pass('there is no older Node here')
  // Below this folder, the newer Node of the packages would be found.
  const alone = mkdtempSync(join(tmpdir(), 'pricewell-alone-'))
  t.teardown(() => rmSync(alone, { recursive: true }))
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(packed, part), join(alone, part), { recursive: true })
  const serving = runIn(alone, [join(alone, 'bin/pricewell.js'), 'serve'])
  await t.rejects(serving, { code: 1, stderr: /^Node 20\S+ is too old: / })
})

/** As `npm run package` packs it, from a copy, so that nothing is left in the sources. */
function packInto(dir: string): void {
  const copy = join(t.testdirName, 'copy')
  const parts = [
    'bin',
    'src',
    'migrations',
    'generated',
    'docs',
    'openapi.yaml',
    'README.md',
    'LICENSE',
  ]
  const settings = ['package.json', 'tsconfig.json', 'tsconfig.build.json']
  for (const part of [...parts, ...settings])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  execFileSync('npm', ['run', '-s', 'package'], {
    cwd: copy,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  mkdirSync(dir, { recursive: true })
  const [tarball = ''] = readdirSync(copy).filter((name) => name.endsWith('.tgz'))
  execFileSync('tar', ['xzf', join(copy, tarball), '-C', dir, '--strip-components=1'])
}

/** What the package depends on, and no more; a registry is not asked. */
function linkDependencies(): void {
  const { dependencies } = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'))
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    const link = join(project, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
}

async function runIn(
  cwd: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const options = { cwd, env: { PATH: process.env.PATH, ...env } }
  return (await promisify(execFile)(node, args, options)).stdout
}

function safeList(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
