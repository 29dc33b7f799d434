import t from 'tap'
import { commandLine } from '../helpers/command-line.ts'
import { nothingThere, standIn } from '../helpers/stand-in.ts'

const seeHelp = 'See `pricewell --help` and `pricewell <command> --help`.\n'
const signedIn = { PRICEWELL_TOKEN: 'a.b.c' }

t.test('wrong usage is 2, with what is wrong and where to read on', async (t) => {
  const { run } = commandLine(t, signedIn)
  const cases: [string[], string][] = [
    [['wiat'], "error: unknown command 'wiat'\n(Did you mean wait?)\n"],
    [['jobs', '--all'], "error: unknown option '--all'\n"],
    [['jobs', 'more'], "error: too many arguments for 'jobs'. Expected 0 arguments but got 1.\n"],
    [
      ['jobs', '--status', 'lost'],
      "error: option '--status <status>' argument 'lost' is invalid. Allowed choices are progress, done, failed, cancelled.\n",
    ],
    [['wait'], "error: missing required argument 'id'\n"],
    ...['x', '0', '-1', '1.5', '1e3', '', '9007199254740993'].map((id): [string[], string] => [
      ['wait', '--', id],
      `error: command-argument value '${id}' is invalid for argument 'id'. Must be a whole number, as shown by \`pricewell jobs\`.\n`,
    ]),
    [['prices', 'L'], "error: missing required argument 'code'\n"],
    [
      ['prices', 'L', 'A', '--where', 'France'],
      "error: option '--where <name=value>' argument 'France' is invalid. Must be a name and a value, such as country=France.\n",
    ],
    [
      ['keys', 'revoke', 'x'],
      "error: command-argument value 'x' is invalid for argument 'id'. Must be a whole number, as shown by `pricewell keys`.\n",
    ],
    [['keys', 'create', 'N'], "error: required option '--scopes <scopes>' not specified\n"],
    [
      ['keys', 'create', 'N', '--scopes', 'read,all'],
      "error: option '--scopes <scopes>' argument 'read,all' is invalid. Must be any of read, plan, write, override, admin, separated by commas.\n",
    ],
    [['reprice', 'L'], "error: required option '--formula <formula>' not specified\n"],
    [
      ['reprice', 'L', '--formula', '= 1', '--filter', 'France'],
      "error: option '--filter <column=value>' argument 'France' is invalid. Must be a name and a value, such as country=France.\n",
    ],
    [
      ['reprice', 'L', '--formula', '= 1', '--decimals', 'x'],
      "error: option '--decimals <number>' argument 'x' is invalid. Must be a number from 0 to 6.\n",
    ],
    [
      ['plan', 'x'],
      "error: command-argument value 'x' is invalid for argument 'id'. Must be a whole number, as shown by `pricewell plans`.\n",
    ],
    [
      ['plans', '--status', 'done'],
      "error: option '--status <status>' argument 'done' is invalid. Allowed choices are open, scheduled, applied, failed, discarded, expired.\n",
    ],
    [
      ['apply', '1', '--skip', 'stale,all'],
      "error: option '--skip <what>' argument 'stale,all' is invalid. Must be stale, violations, or stale,violations.\n",
    ],
    [['login', '--email'], "error: option '--email <email>' argument missing\n"],
  ]
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await run(...args)
    t.strictSame([code, stdout, stderr], [2, '', message + seeHelp], args.join(' '))
  }
})

t.test('with --json wrong usage is told in JSON, too', async (t) => {
  const { run } = commandLine(t, signedIn)
  const cases: [string[], string][] = [
    [['jobs', '--all'], "unknown option '--all'"],
    [['wait'], "missing required argument 'id'"],
    [[], 'Name a command.'],
    [
      ['prices', 'L', 'A', '--url', 'prices'],
      '"prices" is not a service address, such as http://127.0.0.1:3000',
    ],
  ]
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await run(...args, '--json')
    t.strictSame([code, stdout, JSON.parse(stderr)], [2, '', { exit_code: 2, message }])
  }
})

t.test('an address that is none is wrong usage', async (t) => {
  const { run } = commandLine(t, signedIn)
  const more = ['http://ana:secret@127.0.0.1', 'http://127.0.0.1/?a=b', 'http://127.0.0.1/#jobs']
  for (const url of ['prices', 'ftp://127.0.0.1', 'http://', '', ...more]) {
    const { code, stderr } = await run('jobs', '--url', url)
    const message = `"${url}" is not a service address, such as http://127.0.0.1:3000\n`
    t.strictSame([code, stderr], [2, message], url)
  }
})

t.test('without a command the help is shown, as wrong usage', async (t) => {
  const { code, stdout, stderr } = await commandLine(t).run()
  t.strictSame([code, stdout], [2, ''])
  t.match(stderr, /^Usage: pricewell \[options\] \[command\]/)
})

t.test('the help tells the exit codes, and each command shows an example', async (t) => {
  const { run } = commandLine(t)
  const { code, stdout, stderr } = await run('--help')
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /Exit codes:\n {2}0 {2}done\n {2}1 .*\n {2}2 .*\n {2}3 .*\n {2}4 .*\n {2}70 /)
  const commands = [...stdout.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name = '']) => name)
  t.strictSame(commands.filter((name) => name !== 'help').sort(), [
    'account',
    'apply',
    'cancel',
    'cluster',
    'completion',
    'create-list',
    'delete',
    'diff',
    'discard',
    'export',
    'history',
    'jobs',
    'keys',
    'lists',
    'load',
    'log',
    'login',
    'logout',
    'password',
    'plan',
    'plans',
    'position',
    'prices',
    'remove',
    'reprice',
    'revert',
    'schema',
    'serve',
    'sync',
    'users',
    'wait',
  ])
  const ofUsers = ['add', 'scopes', 'reset', 'remove'].map((name) => `users ${name}`)
  const ofSchema = ['set', 'add', 'competitor-prices'].map((name) => `schema ${name}`)
  const subcommands = ['account create', 'keys create', 'keys revoke', ...ofUsers, ...ofSchema]
  for (const name of [...commands.filter((name) => name !== 'help'), ...subcommands]) {
    const help = await run(...name.split(' '), '--help')
    t.strictSame([help.code, help.stderr], [0, ''], name)
    t.match(help.stdout, new RegExp(`Examples?:\n {2}.*pricewell ${name}`), name)
  }
})

t.test('a service that is not there is 3', async (t) => {
  const url = await nothingThere(t)
  const { run } = commandLine(t, { ...signedIn, PRICEWELL_URL: url })
  const message = `${url} does not answer (ECONNREFUSED).`
  // Side by side: each tries for some seconds.
  const commands = [['jobs'], ['wait', '1'], ['prices', 'L', 'A'], ['account']]
  const inJson = run('jobs', '--json')
  for (const { code, stdout, stderr } of await Promise.all(commands.map((args) => run(...args))))
    t.strictSame([code, stdout, stderr], [3, '', `${message}\n`])
  const { code, stderr } = await inJson
  t.strictSame([code, JSON.parse(stderr)], [3, { exit_code: 3, message }])
})

t.test('an answer that is not of a service is 3, and not a bug', async (t) => {
  const headers = { 'content-type': 'text/html' }
  const page = await standIn(t, [{ status: 200, headers, body: '<h1>Welcome</h1>' }])
  const cut = await standIn(t, [{ status: 200, body: '{"count"', ends: 'cut' }])
  const { run } = commandLine(t, signedIn)
  for (const args of [['jobs'], ['prices', 'L', 'A'], ['export', 'sales']]) {
    const answered = await run(...args, '--url', page.url)
    t.match(answered, {
      code: 3,
      stdout: '',
      stderr: /^HTTP 200 OK: <h1>Welcome.*\nThis is not a response/,
    })
    const { code, stdout, stderr } = await run(...args, '--url', cut.url)
    const message = `${cut.url} broke off in the middle of its answer.\n`
    t.strictSame([code, stdout, stderr], [3, '', message], args.join(' '))
  }
})

t.test('a proxy is distinguished from a wrong address', async (t) => {
  const body = '<h1>Request Entity Too Large</h1>'
  const proxy = await standIn(t, [{ status: 413, headers: { 'content-type': 'text/html' }, body }])
  const { run } = commandLine(t, signedIn)
  const { stderr } = await run('jobs', '--url', proxy.url)
  t.match(stderr, /^HTTP 413 .*\nThis response came from something in front of the service/)
})

t.test('without a login it is 4', async (t) => {
  const { run } = commandLine(t)
  for (const args of [['jobs'], ['wait', '1'], ['prices', 'L', 'A'], ['account']]) {
    const { code, stdout, stderr } = await run(...args)
    const message = 'There is no login at http://127.0.0.1:3000. Log in with `pricewell login`.\n'
    t.strictSame([code, stdout, stderr], [4, '', message], args.join(' '))
  }
})
