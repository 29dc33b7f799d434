import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from './arena.ts'
import type { Answer } from './client.ts'
import type { Load } from './load.ts'
import type { Tenant } from './tenant.ts'

const withinMs = 2000
/** A service that is not back by then is taken as lost. */
const givenUpMs = 60_000

/** Notes a fault unless a read and a write succeed within 2 s. */
export async function expectUsable({ faults, timeFactor }: Arena, { quiet }: Load): Promise<void> {
  const back = Date.now()
  await untilUsable(quiet)
  const ms = Date.now() - back
  if (ms > withinMs * timeFactor) faults.push(`usable only after ${ms} ms`)
}

async function untilUsable({ send }: Tenant): Promise<void> {
  const deadline = Date.now() + givenUpMs
  const read = () => send('GET', '/api/v1/sales_history/?limit=1')
  const write = () => send('POST', '/api/v1/competitor_prices/schema/create_schema/', schema)
  for (const request of [read, write]) {
    while (!isDone(await request()) && Date.now() < deadline) await sleep(20)
  }
}

const isDone = ({ status }: Answer) => status >= 200 && status < 300

/** Declares the same schema again: a write without effect. */
const schema = { attributes_config: ['code'] }
