import pg from 'pg'
import type { Test } from 'tap'

export interface HeldWrites {
  /** Blocks all writes of the table until `release`. */
  hold(): Promise<void>
  /** Waits until this many writes are blocked. */
  untilHeld(count?: number): Promise<void>
  release(): Promise<void>
}

/** Why a test of triggers is skipped on a cluster, which has none. */
export const noTriggers = process.env.TEST_CLUSTER_URL !== undefined && 'needs triggers'

/**
 * Blocks writes of a table without a lock: the service waits 1.25 s for one, too short for a test on a busy machine.
 */
export async function holdableWrites(t: Test, url: string, table: string): Promise<HeldWrites> {
  const owner = new pg.Client({ connectionString: url })
  await owner.connect()
  t.teardown(() => owner.end())
  await owner.query(`create table held (); grant select on held to public;
    create function wait_while_held() returns trigger language plpgsql as $$ begin
      while exists (select from public.held) loop perform pg_sleep(0.01); end loop;
      return null;
    end $$;
    create trigger wait_while_held before insert or delete on ${table} for each statement execute function wait_while_held()`)
  const held = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  return {
    hold: async () => void (await owner.query('insert into held default values')),
    untilHeld: async (count = 1) => {
      while ((await owner.query(held)).rows.length < count);
    },
    release: async () => void (await owner.query('delete from held')),
  }
}
