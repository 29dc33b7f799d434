import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from './arena.ts'
import { cancelJobs, deleteLists, writePromotions } from './change-load.ts'
import { loadFiles } from './file-load.ts'
import { runJobs } from './job-load.ts'
import { type Batch, unserved } from './ledger.ts'
import { codesFrom, createTenant, sendUntilDone, stableRows, type Tenant } from './tenant.ts'
import { aProduct, aSale } from './values.ts'

/** A loop of one client; ends soon after `isOver`. */
export type Loop = (tenant: Tenant, arena: Arena, isOver: () => boolean) => Promise<void>

export interface Load {
  tenants: Tenant[]
  /** An account without load, to probe with. */
  quiet: Tenant
  /** Ends the load once each account was served, every request is answered and every job has ended. */
  settle(): Promise<void>
}

/** Rows of a batch: most are sent as arrays, the largest go by COPY. */
const batchSizes = [50, 300, 300, 1000, 6000] as const
const pauseMs = 20
/** On a busy machine everything sent during the fault may have been refused. */
const servedWithinMs = 60_000

/** Several accounts write, read, load files, run and cancel jobs, and delete, until `settle`. */
export async function startLoad(
  arena: Arena,
  url: () => string,
  { accounts = 2 } = {},
): Promise<Load> {
  const tenants: Tenant[] = []
  for (let count = 0; count < accounts; count++) tenants.push(await createTenant(arena, url))
  const quiet = await createTenant(arena, url, stableRows)
  let isOver = false
  /** Further faults of the same kind add nothing. */
  const isLost = () => arena.faults.length > 100
  const loops = [
    writeSales,
    writeProducts,
    writePrices,
    readPrices,
    runJobs,
    loadFiles,
    cancelJobs,
    deleteLists,
    writePromotions,
  ]
  const running = tenants.flatMap((tenant) =>
    loops.map((loop) =>
      loop(tenant, { ...arena, random: arena.random.fork() }, () => isOver || isLost()).catch(
        (error) => {
          arena.faults.push(`the load broke off: ${(error as Error).stack}`)
        },
      ),
    ),
  )
  const settle = async () => {
    const deadline = Date.now() + servedWithinMs
    const isUnserved = () => tenants.some(({ ledger }) => unserved(ledger).length > 0)
    while (isUnserved() && !isLost() && Date.now() < deadline) await sleep(pauseMs)
    isOver = true
    await Promise.all(running)
  }
  return { tenants, quiet, settle }
}

/** Upserts batches of sales; half of them are repeated with an idempotency key until acknowledged. */
export const writeSales: Loop = async (tenant, arena, isOver) => {
  const path = '/api/v1/sales_history/bulk_create_or_update'
  for (let number = 0; !isOver(); number++) {
    const name = `S${number}`
    const size = arena.random.pick(batchSizes)
    const rows = Array.from({ length: size }, (_, index) => aSale(name, index))
    const batch: Batch = { rows: size, isAcknowledged: false }
    tenant.ledger.sales.set(name, batch)
    const isKeyed = arena.random.chance(0.5)
    const answer = isKeyed
      ? await sendUntilDone(tenant, path, rows, name)
      : await tenant.send('POST', path, rows)
    if (isKeyed && !answer) arena.faults.push(`${name} was never acknowledged`)
    batch.isAcknowledged = answer?.status === 201
    if (batch.isAcknowledged && answer?.body.length !== size)
      arena.faults.push(`${name}: ${answer?.body.length} of ${size} rows are new: applied twice`)
    await sleep(pauseMs)
  }
}

/** Upserts batches of new products; each batch has one purchase price. */
export const writeProducts: Loop = async (tenant, arena, isOver) => {
  for (let number = 0; !isOver(); number++) {
    const name = `N${number}`
    const size = arena.random.pick(batchSizes)
    const rows = Array.from({ length: size }, (_, index) => aProduct(name, index))
    const batch: Batch = { rows: size, isAcknowledged: false }
    tenant.ledger.products.set(name, batch)
    const path = '/api/v1/product_catalog/bulk_create_or_update/'
    batch.isAcknowledged = (await tenant.send('POST', path, rows)).status === 200
    await sleep(pauseMs)
  }
}

/** Sets one price on all rows of the list "stable", a higher one each time. */
export const writePrices: Loop = async ({ send, ledger: { prices } }, _arena, isOver) => {
  while (!isOver()) {
    const price = ++prices.last
    const payload = codesFrom(stableRows).map((row) => ({ ...row, price }))
    const body = { price_list_name: 'stable', payload }
    const { status } = await send('POST', '/api/v1/prices/bulk_update_prices/', body)
    if (status === 201) prices.acknowledged = price
    await sleep(pauseMs)
  }
}

/** Expects reads to see one price on all rows, never an older one than was acknowledged before. */
export const readPrices: Loop = async ({ send, ledger: { prices, reads } }, { faults }, isOver) => {
  while (!isOver()) {
    const least = prices.acknowledged
    reads.sent++
    const body = { price_list_name: 'stable', payload: [{ country: 'UK' }] }
    const answer = await send('POST', '/api/v1/prices/get_prices/', body)
    if (answer.status === 201) {
      reads.answered++
      const seen = answer.body.map(({ active_price }: { active_price: number }) => active_price)
      const isWhole = seen.length === stableRows && new Set(seen).size === 1
      if (!isWhole || seen[0] < least)
        faults.push(`read ${seen.length} rows at ${[...new Set(seen)]}, at least ${least} expected`)
    }
    await sleep(pauseMs)
  }
}
