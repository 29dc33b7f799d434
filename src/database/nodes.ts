import { sql } from 'kysely'
import type { Database } from './pool.ts'

/** A machine of a cluster that holds rows. */
export interface NodeState {
  /** Its host and port. */
  name: string
  isUp: boolean
}

/** Returns the nodes that hold rows, and whether the node of `db` reaches them; none for a plain PostgreSQL. */
export async function findNodes(db: Database): Promise<NodeState[]> {
  const { rows } = await sql<{ isCluster: boolean }>`
    select to_regclass('pg_catalog.pg_dist_node') is not null as "isCluster"`.execute(db)
  if (!rows[0]?.isCluster) return []
  const { rows: nodes } = await sql<NodeState>`
    select format('%s:%s', nodename, nodeport) as name, citus_check_connection_to_node(nodename, nodeport) as "isUp"
    from pg_dist_node where noderole = 'primary' and shouldhaveshards order by 1`.execute(db)
  return nodes
}
