import { sql } from 'kysely'
import { onlyRow } from './only-row.ts'
import type { Database } from './pool.ts'

/** A machine of a cluster that holds rows. */
export interface NodeState {
  /** Its host and port. */
  name: string
  isUp: boolean
}

/** Where the rows of a database come from. */
export interface Origin {
  /** The same for a database and its standbys. */
  source: string
  isStandby: boolean
  startedAt: string
  /** The addresses of all nodes; null for a plain PostgreSQL. */
  nodes: string | null
}

/**
 * Whether a database reads the rows of another: as its standby, as a node of its cluster, or through another address of
 * its server. A restored backup and a standby that was promoted do not: they go their own way.
 */
export function isCopyOf(
  original: Origin,
  { nodes, source, isStandby, startedAt }: Origin,
): boolean {
  if (nodes) return nodes === original.nodes
  return source === original.source && (isStandby || startedAt === original.startedAt)
}

/** Returns where the rows of `db` come from, for `isCopyOf`. */
export async function findOrigin(db: Database): Promise<Origin> {
  const nodes = (await isCluster(db))
    ? sql`(select string_agg(format('%s:%s', nodename, nodeport), ' ' order by nodeid) from pg_dist_node)`
    : sql`null`
  return onlyRow<Origin>(db)`
    select format('%s/%s', c.system_identifier, d.oid) as source, pg_is_in_recovery() as "isStandby",
      pg_postmaster_start_time()::text as "startedAt", ${nodes} as nodes
    from pg_control_system() c, pg_database d where d.datname = current_database()`
}

/** Returns the nodes that hold rows, and whether the node of `db` reaches them; none for a plain PostgreSQL. */
export async function findNodes(db: Database): Promise<NodeState[]> {
  if (!(await isCluster(db))) return []
  const { rows: nodes } = await sql<NodeState>`
    select format('%s:%s', nodename, nodeport) as name, citus_check_connection_to_node(nodename, nodeport) as "isUp"
    from pg_dist_node where noderole = 'primary' and shouldhaveshards order by 1`.execute(db)
  return nodes
}

async function isCluster(db: Database): Promise<boolean> {
  const { rows } = await sql<{ isSo: boolean }>`
    select to_regclass('pg_catalog.pg_dist_node') is not null as "isSo"`.execute(db)
  return rows[0]?.isSo === true
}
