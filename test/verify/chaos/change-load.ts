import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from './arena.ts'
import type { Answer } from './client.ts'
import { createList, lookAtJob, runJob, startJob } from './job-load.ts'
import type { JobEntry, ListEntry } from './ledger.ts'
import type { Loop } from './load.ts'
import { codesFrom, jobProductsMax, sendUntilDone, type Tenant } from './tenant.ts'

const pauseMs = 100
const endsWithinMs = 120_000
/** Number of promotions, all changed together. */
export const promotions = Array.from({ length: 200 }, (_, index) => ({
  name: `Promotion ${index}`,
  kind: 'amount',
  // In the past, so that they change no price that is read.
  valid_from: '2020-01-01',
  valid_to: '2020-12-31',
}))

/** Cancels the first job of each list at some point; a smaller one follows and is done. */
export const cancelJobs: Loop = async (tenant, arena, isOver) => {
  for (let number = 0; !isOver(); number++) {
    const name = `X${number}`
    const list = await createList(tenant, name)
    if (!list) return void arena.faults.push(`list ${name} was never acknowledged`)
    const rows = arena.random.integer(101, jobProductsMax)
    const job = await startJob(tenant, list, { kind: 'add', name, rows })
    if (!job) return void arena.faults.push(`the job of ${name} was never accepted`)
    const when = arena.random.integer(0, rows - 1)
    while (job.status === 'progress' && job.finished < when && !isOver()) {
      await lookAtJob(tenant, arena, job)
      await sleep(10)
    }
    await cancelJob(tenant, arena, list, job)
    const kind = 'sync'
    if (arena.random.chance(0.3))
      await runJob(tenant, arena, list, { kind, name, rows: jobProductsMax })
    await sleep(pauseMs)
  }
}

/** Cancels a job, with an idempotency key, unless it ends first; notes how it ended. */
async function cancelJob(
  tenant: Tenant,
  arena: Arena,
  list: ListEntry,
  job: JobEntry,
): Promise<void> {
  const path = `/api/v1/jobs/${job.id}/cancel/`
  const key = { 'idempotency-key': `cancel ${job.id}` }
  const answer = await untilAnswered(() => tenant.send('POST', path, undefined, key), [200, 409])
  const deadline = Date.now() + endsWithinMs
  while (job.status === 'progress' && Date.now() < deadline) {
    await lookAtJob(tenant, arena, job)
    await sleep(30)
  }
  if (job.status === 'cancelled') {
    list.jobs = list.jobs.filter((other) => other !== job)
    list.cancelled.push(job.id)
  } else if (answer?.status !== 409 || job.status !== 'done')
    arena.faults.push(`job ${job.id} is ${job.status}, its cancellation ${answer?.status}`)
}

/** Creates, fills and deletes lists. */
export const deleteLists: Loop = async (tenant, arena, isOver) => {
  for (let number = 0; !isOver(); number++) {
    const name = `D${number}`
    const list = await createList(tenant, name)
    const body = { name, payload: codesFrom(arena.random.integer(1, 100)) }
    const path = '/api/v1/prices/bulk_add_products/'
    const isFilled = list && (await sendUntilDone(tenant, path, body, `fill ${name}`))
    if (!isFilled) return void arena.faults.push(`list ${name} was never filled`)
    tenant.ledger.lists.delete(name)
    const answer = await untilAnswered(
      () => tenant.send('DELETE', `/api/v1/price_list/${list.id}`),
      [204, 404],
    )
    if (answer) tenant.ledger.deleted.push(list.id)
    else arena.faults.push(`list ${name} was never deleted`)
    await sleep(pauseMs)
  }
}

/** Repeats a request until it gets a final answer; undefined after 60 s. */
async function untilAnswered(
  send: () => Promise<Answer>,
  statuses: number[],
): Promise<Answer | undefined> {
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const answer = await send()
    const isInUse = answer.body?.type === 'idempotency-key-in-use'
    if (statuses.includes(answer.status) && !isInUse) return answer
    await sleep(50)
  }
  return undefined
}

/** Sets one value in all promotions, a higher one each time. */
export const writePromotions: Loop = async ({ send, ledger }, _arena, isOver) => {
  while (!isOver()) {
    const value = ++ledger.promotions.last
    const rows = promotions.map((promotion) => ({ ...promotion, value }))
    const path = '/api/v1/promotions/bulk_create_or_update/'
    if ((await send('POST', path, rows)).status === 200) ledger.promotions.acknowledged = value
    await sleep(pauseMs)
  }
}
