import type pg from 'pg'
import { distributedTables, type Node, referenceTables, rejectPlain } from './cluster.ts'

export interface ClusterStatus {
  nodes: (Node & {
    is_reachable: boolean
    /** The number of shards on the node. A table has 32; an account is in one shard of each table, all on one node. */
    shards: number
    bytes: number
  })[]
  /** Tables that `distribute` has not distributed yet. */
  not_distributed: string[]
  /** The largest accounts of the largest shards on reachable nodes, the largest first. */
  largest_accounts: AccountSize[]
}

interface AccountSize {
  account: number
  name: string
  node: string
  rows: number
  bytes: number
}

/** Tables that grow with the business. */
const countedTables = [
  'products',
  'price_list_rows',
  'calendar_months',
  'sales',
  'competitor_prices',
  'agreements',
]
/** The most accounts whose rows are counted, which reads all of those rows. */
const countedMax = 50
const listedMax = 10

/** Reads what the nodes hold. `client` connects as the tables' owner. Throws StartupError for a plain PostgreSQL. */
export async function readClusterStatus(client: pg.ClientBase): Promise<ClusterStatus> {
  await rejectPlain(client)
  const { rows: nodes } = await client.query(selectNodes)
  const { rows: missing } = await client.query(selectMissing, [allTables])
  const isFilled = missing.length < allTables.length
  const { rows: candidates } = isFilled
    ? await client.query(selectCandidates, [countedMax])
    : { rows: [] }
  const accounts: AccountSize[] = []
  const reachable = new Set(nodes.filter((node) => node.is_reachable).map(({ name }) => name))
  for (const candidate of candidates.filter(({ node }) => reachable.has(node)))
    accounts.push({ ...candidate, ...(await readSize(client, candidate.account)) })
  accounts.sort((a, b) => b.rows - a.rows)
  return {
    nodes,
    not_distributed: missing.map(({ name }) => name),
    largest_accounts: accounts.slice(0, listedMax),
  }
}

const allTables = [...referenceTables, ...distributedTables]

/** float8 fits into a JSON number, and the bytes of a cluster into float8. */
const selectNodes = `
  select format('%s:%s', n.nodename, n.nodeport) as name, n.groupid = 0 as is_coordinator, n.shouldhaveshards as holds_rows,
    citus_check_connection_to_node(n.nodename, n.nodeport) as is_reachable,
    count(s.shardid)::integer as shards, coalesce(sum(s.shard_size), 0)::float8 as bytes
  from pg_dist_node n
  left join citus_shards s on s.nodename = n.nodename and s.nodeport = n.nodeport and s.citus_table_type = 'distributed'
  where n.noderole = 'primary'
  group by n.groupid, n.nodename, n.nodeport, n.shouldhaveshards order by n.groupid, 1`

const selectMissing = `
  select name from unnest($1::text[]) as listed (name)
  where (to_regclass(name) in (select logicalrelid from pg_dist_partition)) is not true`

/** The accounts of the shards with the most bytes. */
const selectCandidates = `
  with sizes as (
    select d.shardminvalue, sum(s.shard_size) as bytes, min(format('%s:%s', s.nodename, s.nodeport)) as node
    from citus_shards s join pg_dist_shard d using (shardid)
    where s.citus_table_type = 'distributed' group by 1
  )
  select n.id::float8 as account, n.name, sizes.node
  from account_names n
  join pg_dist_shard d on d.shardid = get_shard_id_for_distribution_column('accounts', n.id)
  join sizes using (shardminvalue)
  order by sizes.bytes desc, n.id limit $1`

async function readSize(
  client: pg.ClientBase,
  account: number,
): Promise<{ rows: number; bytes: number }> {
  const counts = countedTables.map(
    (table) =>
      `select count(*) as rows, sum(pg_column_size(t.*)) as bytes from ${table} t where account_id = ${account}`,
  )
  const { rows } = await client.query(
    `select sum(rows)::float8 as rows, coalesce(sum(bytes), 0)::float8 as bytes from (${counts.join(' union all ')}) as each_table`,
  )
  return rows[0]
}
