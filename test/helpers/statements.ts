import pg from 'pg'
import { withSessionSettings } from '../../src/database/connection-setup.ts'
import { applicationRole } from '../../src/database/pool.ts'

export interface Statement {
  text: string
  values: unknown[]
}

const explained =
  /^\s*(with|select|insert|update|delete|create temporary table \w+ on commit drop as)\b/i
/** Statements on timers: the queue, remaining lock timeouts, expired rows. */
const byTime =
  /pgboss|pg_listening_channels|^\s*select (delete_expired_|expire_history|from pg_stat_activity)/
let recorded: Statement[] | undefined
let staged: Promise<PlanNode>[] | undefined
const query = pg.Client.prototype.query
// biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
pg.Client.prototype.query = function (this: pg.Client, ...args: any[]): any {
  const [config, values] = args
  const text = typeof config === 'string' ? config : config?.text
  if (explained.test(text ?? '') && !byTime.test(text))
    note(this, { text, values: values ?? config.values ?? [] })
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  return (query as any).apply(this, args)
}

function note(client: pg.Client, statement: Statement): void {
  recorded?.push(statement)
  if (statement.text.includes('pg_temp.feed')) staged?.push(explain(client, statement))
}

/** The statements that `work` sends to Postgres from this process. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  recorded = statements
  await work().finally(() => {
    recorded = undefined
  })
  return statements
}

/** The plans of statements on staging tables; made on the same connection, because no other sees those tables. */
export async function plansOfStaged(work: () => Promise<unknown>): Promise<PlanNode[]> {
  const plans: Promise<PlanNode>[] = []
  staged = plans
  await work().finally(() => {
    staged = undefined
  })
  return Promise.all(plans)
}

export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Filter?: string
  'Join Filter'?: string
  Output?: string[]
  'Plan Rows': number
  'Parent Relationship'?: string
  'Subplan Name'?: string
  Plans?: PlanNode[]
}

/** A connection with the planner settings of the service. */
export async function openPlanner(url: string): Promise<pg.Client> {
  const settings = {
    role: applicationRole,
    timezone: 'UTC',
    random_page_cost: 1.1,
    enable_material: 'off',
  }
  const client = new pg.Client({ connectionString: withSessionSettings(url, settings) })
  await client.connect()
  return client
}

/** All nodes of a statement's plan in an account. */
export async function planOf(
  planner: pg.Client,
  account: number,
  statement: Statement,
): Promise<PlanNode[]> {
  await planner.query(`begin; set local app.account = '${account}'`)
  const plan = await explain(planner, statement)
  await planner.query('rollback')
  return nodesOf(plan)
}

/** All nodes of a statement's generic plan. */
export async function lastingPlanOf(planner: pg.Client, { text }: Statement): Promise<PlanNode[]> {
  const { rows } = await planner.query(`explain (generic_plan, format json) ${text}`)
  return nodesOf(rows[0]['QUERY PLAN'][0].Plan)
}

async function explain(client: pg.Client, { text, values }: Statement): Promise<PlanNode> {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const { rows } = await (query as any).call(
    client,
    `explain (verbose, format json) ${text}`,
    values,
  )
  return rows[0]['QUERY PLAN'][0].Plan
}

/** A node of a plan and all below it. */
export function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}
