import { setTimeout as sleep } from 'node:timers/promises'
import { select } from '../../helpers/sql.ts'
import type { Arena } from './arena.ts'

const withinMs = 30_000

/** Identifies an attempt: each has another retry count. */
const attempt = `id || ' ' || retry_count`

/** Notes a fault unless each active attempt has ended or was replaced within 30 s. */
export async function expectResumed({ databaseUrl, faults, timeFactor }: Arena): Promise<void> {
  const began = Date.now()
  const held = `select ${attempt} as name from pgboss.job where name = 'price-list' and state = 'active'`
  const names = (await select(databaseUrl, held)).map(({ name }) => name)
  const waiting = `select from pgboss.job where ${attempt} = any($1) and state <> 'completed'`
  while ((await select(databaseUrl, waiting, [names])).length > 0) {
    if (Date.now() - began > withinMs * timeFactor)
      return void faults.push(`jobs were not resumed in ${withinMs * timeFactor} ms`)
    await sleep(100)
  }
}
