import pg from 'pg'
import t from 'tap'
import { loggableError } from '../../src/database/errors.ts'
import { startTestService } from '../helpers/service.ts'

const service = await startTestService(t, { LOG_LEVEL: 'error' })
const secret = 'S3CRET-VALUE'

t.test('an error of Postgres is logged without the values of rows', async (t) => {
  const client = new pg.Client({ connectionString: service.url })
  await client.connect()
  t.teardown(() => client.end())
  const insert = 'insert into users (scopes, account_id, email, password_hash) values'
  const faults: [string, unknown[], string][] = [
    [`${insert} ('{}', $1, $2, $2)`, [1, secret], '23503'],
    ['insert into account_names (id, name) values (1, $1), (2, $1)', [secret], '23505'],
    [`${insert} ('{}', $1, $2, null)`, [1, secret], '23502'],
    ['select $1::text::numeric', [secret], '22P02'],
    ['select $1::text::date', [secret], '22007'],
    ['select ($1::text || repeat($1::text, 10))::varchar::int', [secret], '22P02'],
  ]
  for (const [text, values, code] of faults) {
    const error = await client.query(text, values).then(
      () => undefined,
      (thrown) => thrown,
    )
    t.equal(error?.code, code, text)
    const wrapped = new Error('a job failed', { cause: error })
    const copied = { ...error, message: error.message, stack: error.stack, queue: 'jobs' }
    for (const logged of [error, wrapped, copied].map(loggableError)) {
      t.notMatch(JSON.stringify(logged), secret, `${code}: no value`)
      t.match(JSON.stringify(logged), code, `${code}: the state`)
      for (const key of ['detail', 'where', 'hint', 'internalQuery', 'parameters', 'query'])
        t.notOk(key in logged, `${code}: no ${key}`)
    }
    t.match(loggableError(error).stack, /^ {4}at /, 'the stack stays')
  }
})

t.test('the log of the service is written by it', async (t) => {
  t.equal(service.app.log.level, 'error')
  const lines: string[] = []
  const { write } = process.stderr
  process.stderr.write = ((line: string) => lines.push(line) > 0) as typeof process.stderr.write
  const error = Object.assign(new Error(secret), {
    code: '22P02',
    detail: secret,
    where: secret,
  })
  service.app.log.error({ err: error }, 'request failed')
  process.stderr.write = write
  t.match(lines.join(''), /22P02/)
  t.notMatch(lines.join(''), secret)
})

t.test('what is no error is not repeated', async (t) => {
  for (const thrown of [secret, { secret }, null, undefined, 7])
    t.notMatch(JSON.stringify(loggableError(thrown)), secret)
})
