import { EventEmitter } from 'node:events'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { Problem } from '../../../src/contract/problem.ts'
import { FairQueue, type QueueLimits } from '../../../src/http/overload/fair-queue.ts'

const limits: QueueLimits = {
  seatsMax: 1,
  seatsOfAccountMax: 1,
  waitingMax: 100,
  waitingOfAccountMax: 100,
  waitMs: 60_000,
  waitOwnMs: 60_000,
}

/** Work that begins when it is its turn and ends when it is told to. */
function heldWork(queue: FairQueue, account: number, client = new EventEmitter()) {
  let end: (error?: Error) => void = () => undefined
  let hasBegun = false
  const held = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve())
  })
  const result = queue.run(account, client, () => {
    hasBegun = true
    return held
  })
  const outcome = result.then(
    () => 'done',
    (error: Error) => error,
  )
  return { client, end, outcome, hasBegun: () => hasBegun }
}

/** Lets everything happen that can happen now. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function expectRefused(t: Test, outcome: unknown, type: string): void {
  if (!(outcome instanceof Problem)) return void t.fail(`not refused: ${outcome}`)
  t.equal(outcome.type, type)
  t.match(outcome.options.headers?.['retry-after'], /^([1-9]|[1-5]\d|60)$/)
}

t.test('accounts get seats in rotation, requests of one in their order', async (t) => {
  const queue = new FairQueue(limits)
  const order: string[] = []
  const work = (account: number, name: string) =>
    queue.run(account, new EventEmitter(), async () => {
      order.push(name)
    })
  const first = heldWork(queue, 1)
  const others = [
    ...['a', 'b', 'c', 'd'].map((name) => work(1, name)),
    work(2, 'x'),
    work(3, 'y'),
    work(2, 'z'),
  ]
  first.end()
  await Promise.all(others)
  t.strictSame(order, ['x', 'y', 'a', 'z', 'b', 'c', 'd'])
})

t.test('an account has no more seats than its share, and others have the rest', async (t) => {
  const queue = new FairQueue({ ...limits, seatsMax: 3, seatsOfAccountMax: 2 })
  const own = [1, 2, 3].map(() => heldWork(queue, 1))
  const other = heldWork(queue, 2)
  const late = heldWork(queue, 3)
  await settle()
  t.strictSame(
    own.map(({ hasBegun }) => hasBegun()),
    [true, true, false],
  )
  t.ok(other.hasBegun())
  t.notOk(late.hasBegun(), 'three at once in all')
  own[0]?.end()
  await settle()
  t.ok(late.hasBegun(), 'the other account comes before the third turn of the first')
  for (const work of [...own, other, late]) work.end()
  await Promise.all(
    [...own, other, late].map(async ({ outcome }) => t.equal(await outcome, 'done')),
  )
})

t.test('work that fails passes its seat on', async (t) => {
  const queue = new FairQueue(limits)
  const failing = heldWork(queue, 1)
  const next = heldWork(queue, 1)
  failing.end(new Error('failed'))
  t.match(await failing.outcome, { message: 'failed' })
  await settle()
  t.ok(next.hasBegun())
  next.end()
  t.equal(await next.outcome, 'done')
})

t.test('over its bound an account is refused, others are not', async (t) => {
  const queue = new FairQueue({ ...limits, waitingOfAccountMax: 2 })
  const accepted = [1, 2, 3].map(() => heldWork(queue, 1))
  expectRefused(t, await heldWork(queue, 1).outcome, 'too-many-requests')
  t.match(queue.refusal(1)?.message, /this account wait/)
  t.notOk(queue.refusal(2))
  const other = heldWork(queue, 2)
  for (const work of [...accepted, other]) work.end()
  for (const work of [...accepted, other]) t.equal(await work.outcome, 'done')
  t.notOk(queue.refusal(1), 'there is room again')
})

t.test('over the bound of all accounts, every request that would wait is refused', async (t) => {
  const queue = new FairQueue({ ...limits, waitingMax: 2 })
  const accepted = [1, 2, 3].map((account) => heldWork(queue, account))
  expectRefused(t, await heldWork(queue, 4).outcome, 'overloaded')
  for (const work of accepted) work.end()
  for (const work of accepted) t.equal(await work.outcome, 'done')
  const next = [4, 5].map((account) => heldWork(queue, account))
  for (const work of next) work.end()
  for (const work of next) t.equal(await work.outcome, 'done', 'there is room again')
})

t.test('a wait ends with 503 if others have the seats, with 429 if the account has', async (t) => {
  const queue = new FairQueue({ ...limits, waitMs: 10, waitOwnMs: 40 })
  const first = heldWork(queue, 1)
  const own = heldWork(queue, 1)
  const other = heldWork(queue, 2)
  expectRefused(t, await other.outcome, 'overloaded')
  t.notOk(own.hasBegun())
  expectRefused(t, await own.outcome, 'too-many-requests')
  first.end()
  t.equal(await first.outcome, 'done')
  t.notOk(own.hasBegun() || other.hasBegun(), 'what was refused is not begun')
  const next = heldWork(queue, 2)
  next.end()
  t.equal(await next.outcome, 'done')
})

t.test('an account waits for itself as long as it gets seats', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const tick = (ms: number) => {
    now += ms
    mock.timers.tick(ms)
  }
  const queue = new FairQueue({ ...limits, waitMs: 1000 })
  const other = heldWork(queue, 2)
  const [first, second] = [heldWork(queue, 1), heldWork(queue, 1)]
  const next = heldWork(queue, 2)
  tick(500)
  other.end()
  await settle()
  first.end()
  await settle()
  t.ok(next.hasBegun(), 'another account has the turn')
  tick(500)
  tick(999)
  await settle()
  const isRefused = Promise.race([second.outcome, settle()])
  t.equal(await isRefused, undefined, 'the account had a turn: the second one waits on')
  tick(1)
  expectRefused(t, await second.outcome, 'overloaded')
  next.end()
})

t.test('a pause of the process is not a wait: no request got a seat meanwhile', async (t) => {
  for (const account of [1, 2]) {
    const queue = new FairQueue({ ...limits, waitMs: 300, waitOwnMs: 600 })
    const first = heldWork(queue, 1)
    const second = heldWork(queue, account)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900)
    await new Promise((resolve) => setTimeout(resolve, 1))
    first.end()
    await settle()
    second.end()
    t.equal(await second.outcome, 'done')
  }
})

t.test(
  'requests that are likely to wait too long are refused at once, except for a few',
  async (t) => {
    let now = 0
    t.intercept(performance, 'now', { value: () => now })
    const queue = new FairQueue({ ...limits, seatsMax: 2, waitMs: 1000, waitOwnMs: 6000 })
    const before = heldWork(queue, 1)
    now = 10_000
    before.end()
    await before.outcome
    now = 20_000
    // From now on a turn is expected to take a second.
    const works = [2, 3, 4, 6, 7, 8, 9, 10, 11, 12].map((account) => heldWork(queue, account))
    t.notOk(queue.refusal(5), 'four for each turn may wait whatever came before')
    works.push(heldWork(queue, 5))
    expectRefused(t, queue.refusal(5), 'overloaded')
    t.equal(queue.refusal(5)?.options.headers?.['retry-after'], '5', 'nine at two turns')
    for (let own = 10; own <= 13; own++) works.push(heldWork(queue, 2))
    t.equal(queue.refusal(2)?.type, 'overloaded', 'an account that has turns waits longer')
    now = 21_000
    works[0]?.end()
    for (const work of works) work.end()
    for (const work of works) t.equal(await work.outcome, 'done')
  },
)

t.test('an account is not refused for what another one has sent', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const queue = new FairQueue({ ...limits, seatsMax: 2, waitMs: 1000, waitOwnMs: 1000 })
  const before = heldWork(queue, 1)
  now = 10_000
  before.end()
  await before.outcome
  // From now on a turn is expected to take a second; one of two is left for others.
  const works = Array.from({ length: 10 }, () => heldWork(queue, 1))
  expectRefused(t, queue.refusal(1), 'overloaded')
  const other = heldWork(queue, 2)
  t.ok(other.hasBegun(), 'where there is a turn for it')
  works.push(other, heldWork(queue, 2))
  t.notOk(queue.refusal(2), 'nor where it waits for the next')
  for (const work of works) work.end()
  for (const work of works) t.equal(await work.outcome, 'done')
})

t.test('nobody is told to come again later than in a minute', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const queue = new FairQueue({ ...limits, waitingOfAccountMax: 1 })
  const before = heldWork(queue, 1)
  now = 10_000_000
  before.end()
  await before.outcome
  const works = [heldWork(queue, 1), heldWork(queue, 1)]
  t.equal(queue.refusal(1)?.options.headers?.['retry-after'], '60')
  for (const work of works) work.end()
  for (const work of works) t.equal(await work.outcome, 'done')
})

t.test('a client that goes away does not wait any more', async (t) => {
  const queue = new FairQueue({ ...limits, waitingOfAccountMax: 1 })
  const first = heldWork(queue, 1)
  const gone = heldWork(queue, 1)
  gone.client.emit('close')
  t.type(await gone.outcome, Problem)
  t.equal(gone.client.listenerCount('close'), 0)
  const next = heldWork(queue, 1)
  first.end()
  next.end()
  t.equal(await next.outcome, 'done', 'the place in the queue is free')
  t.notOk(gone.hasBegun())
})

t.test('any order of arrivals, ends and departures leaves the queue empty', async (t) => {
  const queue = new FairQueue({
    ...limits,
    seatsMax: 3,
    seatsOfAccountMax: 2,
    waitingMax: 10,
    waitingOfAccountMax: 4,
  })
  let seed = 20261121
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return seed % below
  }
  const open = new Set<ReturnType<typeof heldWork>>()
  const outcomes: Promise<unknown>[] = []
  let running = 0
  for (let step = 0; step < 3000; step++) {
    const work = [...open][random(Math.max(open.size, 1))]
    if (random(3) > 0 || !work) {
      const begun = heldWork(queue, random(4))
      open.add(begun)
      outcomes.push(begun.outcome)
    } else {
      if (work.hasBegun()) work.end(random(2) ? new Error('failed') : undefined)
      else work.client.emit('close')
      open.delete(work)
    }
    await new Promise((resolve) => setImmediate(resolve))
    running = [...open].filter(({ hasBegun }) => hasBegun()).length
    if (running > 3) t.fail(`${running} at once`)
  }
  for (const work of open) work.end()
  await Promise.all(outcomes)
  const after = [0, 1, 2].map((account) => heldWork(queue, account))
  await settle()
  t.ok(
    after.every(({ hasBegun }) => hasBegun()),
    'all turns are free',
  )
  for (const work of after) work.end()
})

t.test('a request that gets a seat at once is not refused because others wait', async (t) => {
  const queue = new FairQueue({ ...limits, seatsMax: 2, waitingMax: 2 })
  const works = [1, 2, 3].map(() => heldWork(queue, 1))
  t.equal(queue.waiting, 2)
  t.notOk(queue.refusal(2))
  const other = heldWork(queue, 2)
  t.ok(other.hasBegun())
  for (const work of [...works, other]) work.end()
  for (const work of [...works, other]) t.equal(await work.outcome, 'done')
})
