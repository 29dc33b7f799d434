import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { ConfigError, readConfig } from '../src/config.ts'

const secret = 'x'.repeat(32)
const database = 'postgresql://user:password@host:5432/database'

function faultsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const [title, ...faults] = error.message.split('\n- ')
    t.equal(title, 'Cannot start:')
    return faults
  }
}

const loadNames = [
  'BODIES_IN_FLIGHT_MB',
  'DATABASE_CONNECTIONS',
  'ACCOUNT_WRITES',
  'ACCOUNT_WAITING',
  'ACCOUNT_WAIT_SECONDS',
  'WAITING',
  'EVENT_LOOP_DELAY_MS',
  'SOCKETS',
  'ARRIVAL_SECONDS',
]

t.test('nothing set gives the embedded database and the documented limits', async (t) => {
  t.strictSame(readConfig({}), {
    port: 3000,
    host: '127.0.0.1',
    basePath: '',
    databaseUrl: undefined,
    databaseReadUrl: undefined,
    historyDays: 400,
    databaseWaitSeconds: 30,
    dataDir: resolve('.data'),
    jwtSecret: undefined,
    jwks: undefined,
    logLevel: 'info',
    metricsToken: undefined,
    collector: undefined,
    role: 'all',
    limits: {
      bodyBytesMax: 64 * 1024 * 1024,
      rowsMax: 100_000,
      readRowsMax: 1_000_000,
      readBytesMax: 2048 * 1024 * 1024,
      feedBytesMax: 4096 * 1024 * 1024,
      feedRowsMax: 10_000_000,
      feedAtOnceBytesMax: 256 * 1024 * 1024,
      filesWaitingMax: 20,
    },
    load: {
      bodiesInFlightBytesMax: 256 * 1024 * 1024,
      databaseConnections: 4,
      accountWritesMax: 2,
      accountWaitingMax: 200,
      accountWaitMs: 30_000,
      waitingMax: 500,
      eventLoopDelayMaxMs: 500,
      socketsMax: 5000,
      arrivalMs: 120_000,
    },
  })
})

t.test('an empty value is as good as none', async (t) => {
  const names = [
    'PORT',
    'HOST',
    'BASE_PATH',
    'DATABASE_URL',
    'DATABASE_READ_URL',
    'DATA_DIR',
    'JWT_SECRET',
    'LOG_LEVEL',
    'METRICS_TOKEN',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'ROLE',
    'BODY_LIMIT_MB',
    'ROWS_MAX',
    'READ_ROWS_MAX',
    'READ_LIMIT_MB',
    'FEED_LIMIT_MB',
    'FEED_ROWS_MAX',
    'FEED_JOB_MB',
    'ACCOUNT_FILES',
    ...loadNames,
    'JWT_JWKS_URL',
    'JWT_ISSUER',
    'JWT_AUDIENCE',
  ]
  t.strictSame(readConfig(Object.fromEntries(names.map((name) => [name, '']))), readConfig({}))
})

t.test('each setting is read', async (t) => {
  const config = readConfig({
    PORT: '0',
    HOST: '0.0.0.0',
    BASE_PATH: '/pricing',
    DATABASE_URL: database,
    DATABASE_READ_URL: `${database}?read`,
    HISTORY_DAYS: '60',
    DATABASE_WAIT_SECONDS: '0',
    DATA_DIR: '/var/data',
    JWT_SECRET: secret,
    JWT_JWKS_URL: 'https://id.example/keys',
    JWT_ISSUER: 'https://id.example',
    JWT_AUDIENCE: 'prices',
    LOG_LEVEL: 'debug',
    METRICS_TOKEN: 'm'.repeat(16),
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    ROLE: 'worker',
    BODY_LIMIT_MB: '1',
    ROWS_MAX: '2',
    READ_ROWS_MAX: '3',
    READ_LIMIT_MB: '7',
    FEED_LIMIT_MB: '4',
    FEED_ROWS_MAX: '5',
    FEED_JOB_MB: '3',
    ACCOUNT_FILES: '6',
    ...Object.fromEntries(loadNames.map((name, index) => [name, String(index + 4)])),
  })
  t.strictSame(config, {
    port: 0,
    host: '0.0.0.0',
    basePath: '/pricing',
    databaseUrl: database,
    databaseReadUrl: `${database}?read`,
    historyDays: 60,
    databaseWaitSeconds: 0,
    dataDir: '/var/data',
    jwtSecret: secret,
    jwks: {
      url: new URL('https://id.example/keys'),
      issuer: 'https://id.example',
      audience: 'prices',
    },
    logLevel: 'debug',
    metricsToken: 'm'.repeat(16),
    collector: new URL('http://collector:4318'),
    role: 'worker',
    limits: {
      bodyBytesMax: 1024 * 1024,
      rowsMax: 2,
      readRowsMax: 3,
      readBytesMax: 7 * 1024 * 1024,
      feedBytesMax: 4 * 1024 * 1024,
      feedRowsMax: 5,
      feedAtOnceBytesMax: 3 * 1024 * 1024,
      filesWaitingMax: 6,
    },
    load: {
      bodiesInFlightBytesMax: 4 * 1024 * 1024,
      databaseConnections: 5,
      accountWritesMax: 6,
      accountWaitingMax: 7,
      accountWaitMs: 8000,
      waitingMax: 9,
      eventLoopDelayMaxMs: 10,
      socketsMax: 11,
      arrivalMs: 12_000,
    },
  })
  const parts = [config, config.limits, config.load]
  t.ok(parts.every(Object.isFrozen), 'nobody changes it')
})

t.test('a wrong value is named with what to set', async (t) => {
  const cases: [string, string[], RegExp][] = [
    [
      'PORT',
      ['-1', '65536', 'x', '1.5', '1e9', '0x10', ' ', '80a'],
      /PORT must be a whole number from 0 to 65535, not "/,
    ],
    [
      'DATABASE_WAIT_SECONDS',
      ['-1', '3601', 'x'],
      /DATABASE_WAIT_SECONDS must be .* from 0 to 3600,/,
    ],
    ['BODY_LIMIT_MB', ['0', '1025', '-1', 'x', '1.5'], /BODY_LIMIT_MB must be .* from 1 to 1024/],
    ['ROWS_MAX', ['0', '10000001', 'x', '1e3'], /ROWS_MAX must be .* from 1 to 10000000/],
    ['READ_ROWS_MAX', ['0', '100000001', 'NaN', 'Infinity'], /READ_ROWS_MAX must be .* from 1 to/],
    ['FEED_LIMIT_MB', ['0', '65537', 'x'], /FEED_LIMIT_MB must be .* from 1 to 65536/],
    ['ACCOUNT_FILES', ['0', '100001', 'x'], /ACCOUNT_FILES must be .* from 1 to 100000,/],
    ['FEED_JOB_MB', ['-1', '65537', 'x'], /FEED_JOB_MB must be .* from 0 to 65536/],
    ['FEED_ROWS_MAX', ['0', '100000001', 'x'], /FEED_ROWS_MAX must be .* from 1 to 100000000/],
    ['BODIES_IN_FLIGHT_MB', ['0', '65537'], /BODIES_IN_FLIGHT_MB must be .* from 1 to 65536/],
    ['DATABASE_CONNECTIONS', ['0', '1001'], /DATABASE_CONNECTIONS must be .* from 1 to 1000,/],
    ['ACCOUNT_WRITES', ['0', '1001'], /ACCOUNT_WRITES must be .* from 1 to 1000,/],
    ['ACCOUNT_WAITING', ['0', '100001'], /ACCOUNT_WAITING must be .* from 1 to 100000,/],
    ['ACCOUNT_WAIT_SECONDS', ['0', '601'], /ACCOUNT_WAIT_SECONDS must be .* from 1 to 600,/],
    ['WAITING', ['0', '100001'], /WAITING must be .* from 1 to 100000,/],
    ['EVENT_LOOP_DELAY_MS', ['-1', '60001'], /EVENT_LOOP_DELAY_MS must be .* from 0 to 60000,/],
    ['SOCKETS', ['0', '1000001'], /SOCKETS must be .* from 1 to 1000000,/],
    ['ARRIVAL_SECONDS', ['0', '3601'], /ARRIVAL_SECONDS must be .* from 1 to 3600,/],
    ['LOG_LEVEL', ['loud', 'INFO', 'constructor'], /LOG_LEVEL must be one of trace, debug/],
    ['METRICS_TOKEN', ['short', 'm'.repeat(15), `${'m'.repeat(16)} x`], /METRICS_TOKEN must be at/],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      ['collector:4318', 'grpc://collector', 'x', 'http://', 'http://h:99999'],
      /OTEL_EXPORTER_OTLP_ENDPOINT must be an http/,
    ],
    ['ROLE', ['boss', 'API', 'all,api'], /ROLE must be one of all, api, worker/],
  ]
  for (const [name, values, expected] of cases) {
    for (const value of values) {
      const faults = faultsOf({ [name]: value })
      t.equal(faults.length, 1, `${name}=${value}`)
      t.match(faults[0], expected, `${name}=${value}`)
    }
  }
})

t.test('the largest value that is named is taken', async (t) => {
  const largest = { PORT: '65535', DATABASE_WAIT_SECONDS: '3600', ACCOUNT_FILES: '100000' }
  t.strictSame(faultsOf(largest), [])
})

t.test('DATABASE_URL is a PostgreSQL URL, and is not repeated: it has a password', async (t) => {
  for (const value of [
    'mysql://u:hidden@h/d',
    'host=h user=hidden',
    'postgresql',
    'postgres://u:hidden@h:99999/d',
    'postgresql://',
  ]) {
    const faults = faultsOf({ DATABASE_URL: value, JWT_SECRET: secret })
    t.equal(faults.length, 1, value)
    t.match(faults[0], /DATABASE_URL must/)
    t.notMatch(faults[0], /hidden/)
  }
  for (const value of [database, 'postgres://h/d', 'postgresql:///d?host=/tmp/socket&user=u'])
    t.equal(readConfig({ DATABASE_URL: value, JWT_SECRET: secret }).databaseUrl, value)
})

t.test('JWT_SECRET has at least 32 bytes and must be set with DATABASE_URL', async (t) => {
  t.match(faultsOf({ DATABASE_URL: database }), [/^JWT_SECRET must be set with DATABASE_URL/])
  for (const short of ['x', 'x'.repeat(31), 'é'.repeat(15)]) {
    const faults = faultsOf({ JWT_SECRET: short })
    t.match(faults, [/^JWT_SECRET must be at least 32 bytes long, not \d+$/], short)
    t.notMatch(faults[0], short.repeat(2), 'it is not repeated')
  }
  for (const value of [secret, 'é'.repeat(16), 'x'.repeat(500)])
    t.equal(readConfig({ JWT_SECRET: value }).jwtSecret, value)
})

t.test('an identity provider needs its URL, issuer and audience', async (t) => {
  const all = { JWT_JWKS_URL: 'https://id.example/keys', JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' }
  t.strictSame(faultsOf(all), [])
  t.match(faultsOf({ ...all, JWT_ISSUER: '' }), [/^JWT_ISSUER must be set/])
  t.match(faultsOf({ ...all, JWT_AUDIENCE: '' }), [/^JWT_AUDIENCE must be set/])
  for (const url of ['keys', '/keys', 'file:///keys', 'ftp://h/keys', 'javascript:1', 'https://'])
    t.match(faultsOf({ ...all, JWT_JWKS_URL: url }), [/^JWT_JWKS_URL must be an http/], url)
  const { JWT_ISSUER, JWT_AUDIENCE } = all
  t.match(
    faultsOf({ JWT_ISSUER, JWT_AUDIENCE }),
    [/^JWT_JWKS_URL must be set/],
    'nothing is ignored',
  )
})

t.test('all faults are listed at once', async (t) => {
  const faults = faultsOf({
    PORT: 'x',
    DATABASE_URL: 'mysql://h/d',
    JWT_JWKS_URL: 'keys',
    LOG_LEVEL: 'loud',
    ROLE: 'boss',
    BODY_LIMIT_MB: '0',
    ROWS_MAX: '0',
    READ_ROWS_MAX: '0',
  })
  const names = faults.map((fault) => fault.split(' ')[0])
  t.strictSame(names.sort(), [
    'BODY_LIMIT_MB',
    'DATABASE_URL',
    'JWT_AUDIENCE',
    'JWT_ISSUER',
    'JWT_JWKS_URL',
    'JWT_SECRET',
    'LOG_LEVEL',
    'PORT',
    'READ_ROWS_MAX',
    'ROLE',
    'ROWS_MAX',
  ])
})

t.test('BASE_PATH is a path without a slash at its end', async (t) => {
  for (const path of ['/pricing', '/a/b.c/D_e-1'])
    t.equal(readConfig({ BASE_PATH: path }).basePath, path)
  for (const path of [
    '/',
    'pricing',
    '/pricing/',
    '//a',
    '/a//b',
    '/a b',
    '/a?b',
    'https://a.example',
  ])
    t.match(
      faultsOf({ BASE_PATH: path }),
      [/^BASE_PATH must be a path such as \/pricing, .*, not "/],
      path,
    )
})

t.test('.env.example shows each setting with its default', async (t) => {
  const example = readFileSync(join(import.meta.dirname, '../.env.example'), 'utf8')
  const shown = parseEnv(example.replace(/^# (?=[A-Z_]+=)/gm, ''))
  const asked = new Set<string>()
  const environment = new Proxy(shown, {
    get: (settings, name: string) => {
      asked.add(name)
      return settings[name]
    },
  })
  t.strictSame(readConfig(environment), readConfig({}))
  t.strictSame(Object.keys(shown).sort(), [...asked].sort())
})
