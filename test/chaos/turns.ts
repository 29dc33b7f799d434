import { setTimeout as sleep } from 'node:timers/promises'
import { select } from '../helpers/sql.ts'
import type { Arena } from './arena.ts'

const withinMs = 30_000

/** Every try at a turn has another number. */
const attempt = `id || ' ' || retry_count`

/** Notes a fault unless each turn that a worker holds now has ended or been taken up again within 30 seconds. */
export async function expectTakenUp({ databaseUrl, faults, patience }: Arena): Promise<void> {
  const began = Date.now()
  const held = `select ${attempt} as name from pgboss.job where name = 'price-list' and state = 'active'`
  const names = (await select(databaseUrl, held)).map(({ name }) => name)
  const waiting = `select from pgboss.job where ${attempt} = any($1) and state <> 'completed'`
  while ((await select(databaseUrl, waiting, [names])).length > 0) {
    if (Date.now() - began > withinMs * patience)
      return void faults.push(`turns were not taken up in ${withinMs * patience} ms`)
    await sleep(100)
  }
}
