import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from './arena.ts'
import { watchJob } from './job-load.ts'
import type { Batch, JobEntry } from './ledger.ts'
import type { Loop } from './load.ts'
import { sendUntilDone, type Tenant } from './tenant.ts'
import { aSale } from './values.ts'

const fileSizes = [100, 2000, 10_000] as const
const pauseMs = 50

/** Loads sales from CSV files, each with an idempotency key: some in the request, some by jobs. */
export const loadFiles: Loop = async (tenant, arena, isOver) => {
  for (let number = 0; !isOver(); number++) {
    const name = `C${number}`
    const size = arena.random.pick(fileSizes)
    const isForJob = arena.random.chance(0.5)
    const batch: Batch = { rows: size, isAcknowledged: false }
    tenant.ledger.sales.set(name, batch)
    const result = await loadFile(tenant, arena, { name, size, isForJob })
    batch.isAcknowledged = result !== undefined
    const { rows, created, updated } = result ?? {}
    if (rows !== size || created !== size || updated !== 0)
      arena.faults.push(`the file ${name} of ${size} rows came to ${JSON.stringify(result)}`)
    await sleep(pauseMs)
  }
}

interface SalesFile {
  name: string
  size: number
  isForJob: boolean
}

/** Loads a file; returns what happened to its rows. */
async function loadFile(tenant: Tenant, arena: Arena, { name, size, isForJob }: SalesFile) {
  const rows = Array.from({ length: size }, (_, index) => aSale(name, index))
  const lines = rows.map((row) => `${Object.values(row).join()}\n`)
  const file = `${Object.keys(aSale(name, 0)).join()}\n${lines.join('')}`
  const headers = { 'content-type': 'text/csv', ...(isForJob && { prefer: 'respond-async' }) }
  const path = '/api/v1/sales_history/bulk_create_or_update'
  const answer = await sendUntilDone(tenant, path, file, `file ${name}`, headers)
  return isForJob && answer ? resultOf(tenant, arena, answer.body.id) : answer?.body
}

async function resultOf(tenant: Tenant, arena: Arena, id: number) {
  const job: JobEntry = { id, rows: 0, finished: 0, status: 'progress' }
  await watchJob(tenant, arena, job)
  const path = `/api/v1/jobs/${id}/`
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const { status, body } = await tenant.send('GET', path)
    if (status === 200) return body.result
    await sleep(50)
  }
  return undefined
}
