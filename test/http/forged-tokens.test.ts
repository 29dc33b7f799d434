import pg from 'pg'
import t, { type Test } from 'tap'
import { forgeries } from '../helpers/forgeries.ts'
import { concretePath, expectProblem, protectedOperations, send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aToken } from '../helpers/tokens.ts'

const service = await sharedService()
const valid = await aToken()

/** Headers that hold a good token, and are none. */
const headers: Record<string, string> = {
  Bearer: `Bearer ${valid}`,
  'two spaces': `jwt  ${valid}`,
  'a space before': ` jwt\u00a0${valid}`,
  'a tab': `jwt\t${valid}`,
  'the token alone': valid,
  'two tokens': `jwt ${valid},jwt ${valid}`,
  'a part too many': `jwt ${valid}.x`,
  'a letter of another script': `jwt ${valid.slice(0, -1)}é`,
  'a percent sign': `jwt ${valid.slice(0, -1)}%41`,
  empty: '',
}

/** Runs some work; answers how often it asked for a connection. */
async function connectionsOf(work: () => Promise<void>): Promise<number> {
  const { connect } = pg.Pool.prototype
  let taken = 0
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
  pg.Pool.prototype.connect = function (this: any, ...args: any[]): any {
    if (/^pricewell (?!jobs|queue)/.test(this.options.application_name)) taken++
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    return (connect as any).apply(this, args)
  }
  await work().finally(() => {
    pg.Pool.prototype.connect = connect
  })
  return taken
}

/** The answer of an operation to credentials, but for the id of the request. */
async function answerTo(t: Test, authorization: string, { method, path, id }: Operation) {
  const request = { method, path: concretePath(path), headers: { authorization } }
  const answer = await send(t, service, request)
  expectProblem(t, answer, 401, 'unauthorized', id)
  const { 'content-length': _, date: __, 'x-request-id': ___, ...others } = answer.headers
  return JSON.stringify([others, { ...answer.body, instance: '' }])
}

type Operation = (typeof protectedOperations)[number]

t.test('a forged token is refused alike by every operation, without a connection', async (t) => {
  const tokens = Object.values(await forgeries()).map((token) => `jwt ${token}`)
  const credentials = [...tokens, ...Object.values(headers)]
  t.ok(credentials.length >= 90, `${credentials.length} credentials`)
  const answers = new Set<string>()
  const connections = await connectionsOf(async () => {
    for (const operation of protectedOperations) {
      for (const authorization of credentials)
        answers.add(await answerTo(t, authorization, operation))
    }
  })
  t.equal(connections, 0)
  t.equal(answers.size, 2, 'one answer for a header that holds no token, one for any bad token')
})

t.test('a good token takes a connection', async (t) => {
  const connections = await connectionsOf(async () => {
    const request = { method: 'GET', path: '/api/v1/price_list/' }
    const authorization = `jwt ${valid}`
    t.equal((await send(t, service, { ...request, headers: { authorization } })).status, 200)
  })
  t.equal(connections, 1)
})
