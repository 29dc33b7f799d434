import t from 'tap'
import { Throttle } from '../../../src/http/overload/admission-control.ts'
import { holdableWrites } from '../../helpers/held-writes.ts'
import { startTestService } from '../../helpers/service.ts'

t.test('few refusals are not delayed', async (t) => {
  let now = 5000
  t.intercept(performance, 'now', { value: () => now })
  const throttle = new Throttle({ perSecond: 10, delayMaxMs: 250 })
  for (; now < 5500; now += 100) t.equal(throttle.delayMs(1), 0)
})

t.test('many are delayed one after the other, none longer than a bound', async (t) => {
  let now = 5000
  t.intercept(performance, 'now', { value: () => now })
  const throttle = new Throttle({ perSecond: 10, delayMaxMs: 250 })
  const delays = () => [1, 2, 3, 4, 5].map(() => throttle.delayMs(1))
  t.strictSame(delays(), [0, 100, 200, 250, 250])
  now = 5300
  t.equal(throttle.delayMs(1), 50, 'a later one comes after them')
  now = 6000
  t.strictSame(delays(), [0, 100, 200, 250, 250], 'and after a pause there is no delay')
})

t.test('the refusals of one account do not delay those of another', async (t) => {
  t.intercept(performance, 'now', { value: () => 1000 })
  const throttle = new Throttle({ perSecond: 10, delayMaxMs: 250 })
  t.strictSame(
    [1, 1, 1].map((account) => throttle.delayMs(account)),
    [0, 100, 200],
  )
  t.strictSame(
    [2, 2].map((account) => throttle.delayMs(account)),
    [0, 100],
  )
})

t.test('a request that is not admitted is answered after the delay of its account', async (t) => {
  const service = await startTestService(t, { ACCOUNT_WRITES: '1', ACCOUNT_WAITING: '1' })
  const account = await service.newAccount(t)
  const path = '/api/v1/sales_history/bulk_create_or_update/'
  const post = (id: string) =>
    account.post(path, [
      { transaction_id: id, code: 'C', extension: '', quantity: '1', revenue: '1' },
    ])
  const held = await holdableWrites(t, service.url, 'sales')
  await held.hold()
  const writes = ['A', 'B'].map(post)
  await held.untilHeld()
  const delayed: number[] = []
  const { delayMs } = Throttle.prototype
  t.teardown(() => (Throttle.prototype.delayMs = delayMs))
  Throttle.prototype.delayMs = (id) => {
    delayed.push(id)
    return 1
  }
  t.equal((await post('C')).status, 429)
  t.strictSame(delayed, [account.id])
  await held.release()
  t.strictSame(
    (await Promise.all(writes)).map(({ status }) => status),
    [201, 201],
  )
})
