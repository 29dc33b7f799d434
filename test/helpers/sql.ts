import pg from 'pg'

/** The rows of one statement on a connection of its own, as the owner: for what the interface does not show. */
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
