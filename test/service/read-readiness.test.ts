import t from 'tap'
import { connectionsOf } from '../helpers/connections-of.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { startTestService } from '../helpers/service.ts'

t.test('a service with its database is ready, without a token', async (t) => {
  const service = await startTestService(t)
  const { status, body } = await send(t, service, { method: 'GET', path: '/health/ready' })
  t.strictSame([status, body], [200, { status: 'ok' }])
})

t.test('a probe is answered whatever it accepts', async (t) => {
  const service = await startTestService(t)
  for (const path of ['/health/ready', '/health/live']) {
    const request = { method: 'GET', path, headers: { accept: 'text/html' } }
    t.equal((await send(t, service, request)).status, 200, path)
  }
})

t.test('while the database refuses it the service is alive, not ready, and recovers', async (t) => {
  const service = await startTestService(t)
  const { allow } = connectionsOf(t, service)
  await allow(false)
  const ask = (path: string) => send(t, service, { method: 'GET', path })
  const refused = await ask('/health/ready')
  expectProblem(t, refused, 503, 'unavailable', 'not ready')
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.equal((await ask('/health/live')).status, 200)
  await allow(true)
  t.equal((await ask('/health/ready')).status, 200)
})
