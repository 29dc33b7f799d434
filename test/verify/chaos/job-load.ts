import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from './arena.ts'
import type { JobEntry, ListEntry } from './ledger.ts'
import type { Loop } from './load.ts'
import { aList, codesFrom, jobProductsMax, sendUntilDone, type Tenant } from './tenant.ts'

/** A job resumes within 30 s after any fault; the rest is its work on a busy machine. */
const endsWithinMs = 120_000

/** Creates lists, fills each by an add job and a sync job, and watches the jobs to their end. */
export const runJobs: Loop = async (tenant, arena, isOver) => {
  for (let number = 0; !isOver(); number++) {
    const list = await createList(tenant, `J${number}`)
    if (!list) return void arena.faults.push(`list J${number} was never acknowledged`)
    const rows = arena.random.integer(101, jobProductsMax)
    await runJob(tenant, arena, list, { kind: 'add', name: `J${number}`, rows })
    if (isOver() && arena.random.chance(0.5)) return
    await runJob(tenant, arena, list, { kind: 'sync', name: `J${number}`, rows: jobProductsMax })
  }
}

/** Creates a list, with an idempotency key. */
export async function createList(tenant: Tenant, name: string): Promise<ListEntry | undefined> {
  const path = '/api/v1/price_list/bulk_create/'
  const answer = await sendUntilDone(tenant, path, [aList(name)], `list ${name}`)
  if (!answer) return undefined
  const entry: ListEntry = { id: answer.body[0].id, jobs: [], cancelled: [] }
  tenant.ledger.lists.set(name, entry)
  return entry
}

interface JobOrder {
  kind: 'add' | 'sync'
  name: string
  rows: number
}

/** Starts a job, with an idempotency key, and watches it to its end. */
export async function runJob(
  tenant: Tenant,
  arena: Arena,
  list: ListEntry,
  order: JobOrder,
): Promise<void> {
  const job = await startJob(tenant, list, order)
  if (job) await watchJob(tenant, arena, job)
  else arena.faults.push(`the ${order.kind} job of ${order.name} was never accepted`)
}

/** Starts a job, with an idempotency key. */
export async function startJob(
  tenant: Tenant,
  list: ListEntry,
  { kind, name, rows }: JobOrder,
): Promise<JobEntry | undefined> {
  const [path, body] =
    kind === 'add'
      ? ['bulk_add_products', { price_list_name: name, payload: codesFrom(rows) }]
      : ['sync_with_catalog', { price_list_name: name }]
  const answer = await sendUntilDone(tenant, `/api/v1/prices/${path}/`, body, `${kind} ${name}`)
  if (!answer) return undefined
  const job: JobEntry = { id: answer.body.id, rows, finished: 0, status: 'progress' }
  list.jobs.push(job)
  return job
}

/** Polls a job until it ends; its progress must not fall and it must succeed. */
export async function watchJob(tenant: Tenant, arena: Arena, job: JobEntry): Promise<void> {
  const deadline = Date.now() + endsWithinMs
  while (job.status === 'progress' && Date.now() < deadline) {
    await lookAtJob(tenant, arena, job)
    await sleep(30)
  }
  if (job.status !== 'done') arena.faults.push(`job ${job.id} is ${job.status}`)
}

export async function lookAtJob({ send }: Tenant, { faults }: Arena, job: JobEntry): Promise<void> {
  const { status, body } = await send('GET', `/api/v1/jobs/${job.id}/`)
  if (status !== 200) return
  const { finished, total } = body.progress
  if (finished < job.finished)
    faults.push(`progress of job ${job.id} fell from ${job.finished} to ${finished}`)
  if (finished > total) faults.push(`job ${job.id} is at ${finished} of ${total}`)
  job.finished = Math.max(job.finished, finished)
  job.status = body.status
}
