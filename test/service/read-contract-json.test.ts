import t from 'tap'
import { parse } from 'yaml'
import { contractBelow } from '../../src/contract/document.ts'
import { send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('the contract is answered as JSON without a token', async (t) => {
  const { status, headers, body } = await send(t, service, { method: 'GET', path: '/openapi.json' })
  t.equal(status, 200)
  t.match(headers['content-type'], /^application\/json/)
  t.strictSame(body, parse(contractBelow('').yaml.toString()), 'it says what the YAML says')
})
