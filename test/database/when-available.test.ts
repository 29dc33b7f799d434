import t from 'tap'
import { whenAvailable } from '../../src/database/server.ts'

const away = Object.assign(new Error('the database system is starting up'), { code: '57P03' })
const wrong = Object.assign(new Error('password authentication failed'), { code: '28P01' })

/** Work that fails with these errors, one after the other, and then succeeds; and who was told of a wait. */
function failing(...errors: Error[]) {
  const told: Error[] = []
  const attempt = async () => {
    const error = errors.shift()
    if (error) throw error
    return 'done'
  }
  const run = (seconds: number) =>
    whenAvailable(attempt, { seconds, onWait: (error) => told.push(error) })
  return { run, told, errors }
}

t.test('work is done again until the database is there, and the wait is told once', async (t) => {
  const { run, told } = failing(away, away)
  t.equal(await run(10), 'done')
  t.strictSame(told, [away])
})

t.test('what does not pass is thrown at once', async (t) => {
  const { run, told, errors } = failing(wrong, away)
  await t.rejects(run(10), wrong)
  t.strictSame([told, errors], [[], [away]])
})

t.test('after the given time the reason is thrown', async (t) => {
  await t.rejects(failing(away).run(0), away)
})
