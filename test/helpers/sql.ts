import pg from 'pg'

/** Runs one statement as the owner, on a new connection; returns its rows. */
export async function select(
  url: string,
  text: string,
  values: unknown[] = [],
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Waits until a session of this name waits for a lock, or until `work` has ended. */
export async function untilLockAwaited(
  url: string,
  name: string,
  work: Promise<unknown>,
): Promise<void> {
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  work.then(end, end)
  const waiting = `select from pg_stat_activity where datname = current_database()
    and application_name = $1 and wait_event_type = 'Lock'`
  while (!hasEnded && (await select(url, waiting, [name])).length === 0);
}
