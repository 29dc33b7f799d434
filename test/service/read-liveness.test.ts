import t from 'tap'
import { send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('a process that runs answers ok without a token', async (t) => {
  for (const headers of [{}, { accept: 'text/html' }, { authorization: 'jwt x' }]) {
    const { status, body } = await send(t, service, {
      method: 'GET',
      path: '/health/live',
      headers,
    })
    t.strictSame([status, body], [200, { status: 'ok' }])
  }
})
