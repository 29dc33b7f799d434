import t from 'tap'
import { Client } from './client.ts'
import { Tally } from './tally.ts'

const page = { statusCode: 200, body: JSON.stringify({ count: 0, results: [] }) }
const problem = { type: 'overloaded', title: 'Too much', status: 503, detail: '-', instance: '1' }
const refusal = { statusCode: 503, body: JSON.stringify(problem) }

/** A client whose service refuses the first `refusals` requests as overloaded. */
function clientOf(refusals: number) {
  const tally = new Tally()
  let count = 0
  const deliver = async () => {
    const { statusCode, body } = count++ < refusals ? refusal : page
    const type = statusCode === 200 ? 'application/json' : 'application/problem+json'
    return { statusCode, body, headers: { 'content-type': type, 'retry-after': '0' } }
  }
  const dump = { hashOf: async () => '', close: async () => undefined }
  return { tally, client: new Client({ deliver, dump, tally, account: 1, token: '' }) }
}

const read = { method: 'GET', path: '/api/v1/agreement/' }

t.test(
  'a service without room is asked again, which is counted, and the input counts once',
  async (t) => {
    const { tally, client } = clientOf(3)
    t.equal((await client.send(read)).status, 200)
    t.equal(tally.total, 1)
    t.equal(tally.refusals(), '3 x overloaded: -')
  },
)

t.test('a service that never has room for an input is at fault', async (t) => {
  await t.rejects(clientOf(1000).client.send(read), { message: /answered 503/ })
})
