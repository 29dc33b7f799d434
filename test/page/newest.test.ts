import t from 'tap'
import { newestOf } from '../../src/page/newest.js'

/** Requests that the test answers by hand, and the responses that were taken. */
function questions() {
  const asked: PromiseWithResolvers<string>[] = []
  const taken: string[] = []
  const load = () => {
    const question = Promise.withResolvers<string>()
    asked.push(question)
    return question.promise
  }
  return { ...newestOf(load, (answer) => taken.push(answer)), asked, taken }
}

t.test('an answer that a newer one has overtaken is not taken', async (t) => {
  const { ask, asked, taken } = questions()
  const looks = [ask(), ask(), ask()]
  for (const index of [1, 0, 2]) asked[index]?.resolve(`answer ${index}`)
  await Promise.all(looks)
  t.strictSame(taken, ['answer 1', 'answer 2'])
})

t.test(
  'what was asked before something became known is old, what is asked then is not',
  async (t) => {
    const { ask, outdate, asked, taken } = questions()
    const before = ask()
    outdate()
    const after = ask()
    for (const [index, question] of asked.entries()) question.resolve(`answer ${index}`)
    await Promise.all([before, after])
    t.strictSame(taken, ['answer 1'])
  },
)

t.test('a failure is told, but for one that a newer answer has overtaken', async (t) => {
  const { ask, asked, taken } = questions()
  const [first, second, third] = [ask(), ask(), ask()]
  asked[1]?.resolve('answer 1')
  await second
  asked[0]?.reject(new Error('old'))
  asked[2]?.reject(new Error('new'))
  t.equal(await first, undefined)
  await t.rejects(third, { message: 'new' })
  t.strictSame(taken, ['answer 1'])
})
