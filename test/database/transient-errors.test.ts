import pg from 'pg'
import t from 'tap'
import {
  CommitInDoubt,
  ConnectionFailed,
  isConnectionLost,
  isTransient,
  isUnavailable,
} from '../../src/database/errors.ts'

const failure = (fields: object, message = 'failed') => Object.assign(new Error(message), fields)

t.test('what Postgres says of itself passes: away, full, locked, too slow', async (t) => {
  const states = {
    '08006': 'connection failure',
    '53100': 'disk full',
    '53200': 'out of memory',
    '53300': 'too many connections',
    '57P01': 'admin shutdown',
    '57P02': 'crash shutdown',
    '57P03': 'cannot connect now',
    '57P05': 'idle session timeout',
    '58030': 'input or output error',
    '55P03': 'lock not available',
    '57014': 'statement timeout',
    '25P03': 'idle in transaction timeout',
    '25P04': 'transaction timeout',
    '25006': 'read-only: a standby',
    '40001': 'serialization failure',
    '40P01': 'deadlock',
  }
  for (const [code, name] of Object.entries(states)) t.ok(isUnavailable(failure({ code })), name)
})

t.test('a fault of the statement or of its data does not pass', async (t) => {
  for (const code of [
    '22P02',
    '23505',
    '23503',
    '42703',
    '42601',
    '25P02',
    '0A000',
    'XX000',
    'P0001',
  ])
    t.notOk(isUnavailable(failure({ code })), code)
})

t.test('a plan that a migration has outdated passes', async (t) => {
  t.ok(isUnavailable(failure({ code: '0A000', routine: 'RevalidateCachedQuery' })))
})

t.test('a quota that is used up passes, which has no code of its own', async (t) => {
  t.ok(isUnavailable(failure({ code: 'XX000', routine: 'mdextend' })))
  t.notOk(isUnavailable(failure({ code: 'XX000', routine: 'ExecProject' })))
})

t.test('a lost node of a cluster passes, and at the commit the outcome is unknown', async (t) => {
  for (const routine of [
    'ReportResultError',
    'MarkRemoteTransactionFailed',
    'ErrorIfPostCommitFailedShardPlacements',
  ]) {
    const error = failure({ code: 'XX000', routine })
    t.ok(isUnavailable(error), routine)
    t.ok(isConnectionLost(error), routine)
  }
  t.notOk(isConnectionLost(failure({ code: 'XX000', routine: 'mdextend' })))
})

t.test('queues that pg-boss has not read yet pass', async (t) => {
  const code = 'ERR_ASSERTION'
  t.ok(isUnavailable(failure({ code }, 'Queue cache is not initialized')))
  t.notOk(isUnavailable(failure({ code }, 'another assertion')))
})

t.test('what somebody has to change may pass, and not by itself', async (t) => {
  const states = ['28000', '28P01', '3D000', '42501', '55000', '22023']
  const refused = states.map((code) => new ConnectionFailed(failure({ code })))
  const right = failure({ code: '42501', routine: 'aclcheck_error' })
  const table = failure({ code: '42P01', routine: 'parserOpenTable' })
  for (const error of [...refused, right, table]) {
    t.ok(isUnavailable(error), error.message)
    t.notOk(isTransient(error), error.message)
  }
  const policy = failure({ code: '42501', routine: 'ExecWithCheckOptions' })
  t.notOk(isUnavailable(policy), 'a row of another account')
  const unread = failure({ code: '42P01', routine: 'errorMissingRTE' })
  t.notOk(isUnavailable(unread), 'a table that the statement does not read')
})

t.test('a connection that cannot be opened or breaks passes', async (t) => {
  for (const code of [
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'EAI_AGAIN',
    'ENOTFOUND',
  ])
    t.ok(isUnavailable(failure({ code })), code)
  t.ok(
    isUnavailable(failure({ code: 'ENOENT', syscall: 'connect' })),
    'the socket of a stopped server',
  )
  t.notOk(isUnavailable(failure({ code: 'ENOENT', syscall: 'open' })), 'a file of ours is missing')
  for (const code of ['EACCES', 'EMFILE', 'ERR_INVALID_ARG_TYPE'])
    t.notOk(isUnavailable(failure({ code })), code)
})

t.test('a session that was ended leaves open what became of its statement', async (t) => {
  for (const code of ['08006', '57P01', '57P02', '40003', 'ECONNRESET'])
    t.ok(isConnectionLost(failure({ code })), code)
  t.ok(isConnectionLost(new Error('Connection terminated unexpectedly')))
  for (const code of ['23505', '40001', '40P01', '53100', '55P03', '57014', 'EACCES'])
    t.notOk(isConnectionLost(failure({ code })), `${code}: nothing was done`)
  t.ok(isUnavailable(new CommitInDoubt(failure({ code: '57P01' }))), 'the same work is done again')
})

t.test('the messages of the driver in use are known', async (t) => {
  const closed = new pg.Client({ host: '/nowhere' })
  await closed.end()
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1 })
  await pool.end()
  for (const work of [() => closed.query('select 1'), () => pool.query('select 1')])
    t.ok(isUnavailable(await work().catch((error: unknown) => error)))
  const others = [
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'timeout expired',
  ]
  for (const message of others) t.ok(isUnavailable(new Error(message)), message)
})

t.test('nothing else passes, whatever its words', async (t) => {
  for (const thrown of [
    new Error('the connection was refused'),
    new TypeError('closed'),
    'x',
    null,
  ])
    t.notOk(isUnavailable(thrown))
})
