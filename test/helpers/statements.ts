import pg from 'pg'
import { applicationRole, withSessionSettings } from '../../src/database/pool.ts'

/** A statement as it went to Postgres. */
export interface Statement {
  text: string
  values: unknown[]
}

let recorded: Statement[] | undefined
const query = pg.Client.prototype.query
// biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
pg.Client.prototype.query = function (this: pg.Client, ...args: any[]): any {
  const [config, values] = args
  const text = typeof config === 'string' ? config : config?.text
  if (
    /^\s*(with|select|insert|update|delete)\b/i.test(text ?? '') &&
    !/pgboss|pg_listening_channels/.test(text)
  )
    recorded?.push({ text, values: values ?? config.values ?? [] })
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  return (query as any).apply(this, args)
}

/** The statements that some work sends to Postgres from this process. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  recorded = statements
  await work().finally(() => {
    recorded = undefined
  })
  return statements
}

/** A node of a plan. */
export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Filter?: string
  Plans?: PlanNode[]
}

/** A connection that plans as the service's own do. */
export async function openPlanner(url: string): Promise<pg.Client> {
  const settings = { role: applicationRole, timezone: 'UTC', random_page_cost: 1.1 }
  const client = new pg.Client({ connectionString: withSessionSettings(url, settings) })
  await client.connect()
  return client
}

/** All nodes of the plan of a statement in an account. */
export async function planOf(
  planner: pg.Client,
  account: number,
  { text, values }: Statement,
): Promise<PlanNode[]> {
  await planner.query(`begin; set local app.account = '${account}'`)
  const { rows } = await planner.query(`explain (format json) ${text}`, values)
  await planner.query('rollback')
  return nodesOf(rows[0]['QUERY PLAN'][0].Plan)
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}
