import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('the contract is answered byte for byte without a token', async (t) => {
  const { status, headers, body } = await send(t, service, { method: 'GET', path: '/openapi.yaml' })
  t.equal(status, 200)
  t.match(headers['content-type'], /^application\/yaml/)
  t.equal(body, readFileSync(join(import.meta.dirname, '../../openapi.yaml'), 'utf8'))
})
