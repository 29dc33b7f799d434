import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { startTestService } from '../helpers/service.ts'

t.test('a service with its database is ready, without a token', async (t) => {
  const service = await startTestService(t)
  const { status, body } = await send(t, service, { method: 'GET', path: '/health/ready' })
  t.strictSame([status, body], [200, { status: 'ok' }])
})

t.test('while the database refuses it the service is alive, not ready, and recovers', async (t) => {
  const service = await startTestService(t)
  const name = new URL(service.url).pathname.slice(1)
  const other = service.url.replace(`/${name}`, '/postgres')
  const allow = (isAllowed: boolean) =>
    query(other, `alter database ${name} with allow_connections ${isAllowed}`)
  await allow(false)
  t.teardown(() => allow(true))
  const ask = (path: string) => send(t, service, { method: 'GET', path })
  const refused = await ask('/health/ready')
  expectProblem(t, refused, 503, 'unavailable', 'not ready')
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.equal((await ask('/health/live')).status, 200)
  await allow(true)
  t.equal((await ask('/health/ready')).status, 200)
})
