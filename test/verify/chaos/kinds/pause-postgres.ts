import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Cluster } from '../cluster.ts'
import { type Kind, underLoad } from '../kind.ts'
import { expectUsable } from '../usable.ts'

/** Pauses PostgreSQL, as when its machine is migrated: connections stay, nothing is answered. */
export const pausePostgres: Kind = {
  name: 'postgres-paused',
  isQuick: false,
  run: (arena) =>
    underLoad(arena, async (_service, load) => {
      await sleep(arena.random.integer(100, 1500))
      const goOn = await pause(arena.cluster)
      await sleep(arena.random.integer(1000, 9000)).finally(goOn)
      await expectUsable(arena, load)
    }),
}

/** Pauses all processes of PostgreSQL; returns a function that resumes them. */
async function pause({ url }: Cluster): Promise<() => void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer as pid`,
  )
  // The postmaster first: it starts no more processes.
  const postmaster: number = rows[0].pid
  process.kill(postmaster, 'SIGSTOP')
  const others = await client.query(
    'select pid from pg_stat_activity where pid <> pg_backend_pid()',
  )
  await client.end()
  const pids = [postmaster, ...others.rows.map(({ pid }) => pid)]
  signal(pids, 'SIGSTOP')
  return () => signal(pids, 'SIGCONT')
}

function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      // The session has ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
