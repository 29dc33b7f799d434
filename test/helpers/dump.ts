import pg from 'pg'

/** A hash of all rows of an account when none of its jobs is running, to compare before and after. */
export interface Dump {
  hashOf(account: number): Promise<string>
  close(): Promise<void>
}

/** Reads every table that has an account, as the owner; rows are sorted. */
export async function openDump(url: string): Promise<Dump> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const { rows: tables } = await pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by 1`,
  )
  const parts = tables.map(
    ({ name }) =>
      `select '${name}' as name, md5(string_agg(r::text, E'\\n' order by r::text collate "C")) as hash
       from ${name} r where account_id = $1`,
  )
  const text = `select md5(string_agg(name || coalesce(hash, ''), ' ' order by name)) as hash
    from (${parts.join(' union all ')}) as tables`
  const working = `select from pgboss.job where state = 'active' and (data ->> 'account')::bigint = $1`
  return {
    async hashOf(account) {
      // A worker tidies up after its job has ended.
      while ((await pool.query(working, [account])).rows.length > 0);
      const { rows } = await pool.query({ name: 'dump', text, values: [account] })
      return rows[0].hash
    },
    close: () => pool.end(),
  }
}
