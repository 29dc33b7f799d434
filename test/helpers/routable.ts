import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { distributedTables } from '../../src/database/cluster.ts'
import { CopyingClient } from '../../src/database/copy.ts'
import { ReadingClient } from '../../src/database/reading-client.ts'
import { nodesOf, type PlanNode } from './statements.ts'

/*
 * A cluster runs a statement on one node if each table in it has the account as a condition of its own. The tests note
 * the statements that the service sends; when they have ended, each is checked here, without a cluster.
 */

/** Those of the service's pools. */
const clients = [CopyingClient, ReadingClient]
const texts = new Set<string>()
const query = pg.Client.prototype.query
const table = `(${distributedTables.join('|')})\\b`
const isOfTables = new RegExp(`\\b${table}`)
const isTemporary = '\\bin \\(select [^)]*pg_temp\\.'

/** Notes the texts of the statements of this process in a file of the folder TEST_STATEMENTS. */
export function noteStatements(): void {
  const folder = process.env.TEST_STATEMENTS
  if (!folder) return
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
  pg.Client.prototype.query = function (this: pg.Client, ...args: any[]): any {
    const [config] = args
    const text: string = typeof config === 'string' ? config : (config?.text ?? '')
    if (clients.some((kind) => this instanceof kind) && isOfTables.test(text)) texts.add(text)
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    return (query as any).apply(this, args)
  }
  process.once('exit', () => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify([...texts]))
  })
}

/** Statements of tests that look at what row-level security does alone. */
const ofTests = [
  'from accounts order by id',
  'from accounts) as rows',
  'from accounts where 1 = $1',
  'update accounts set name',
  'delete from sales',
  'select "id" from "jobs"',
  'delete from "jobs"',
  'as "is_after" from "jobs"',
]

/** What a cluster refuses or takes wrong, by its cause. */
const refused: Record<string, RegExp> = {
  'set_config() does not reach the nodes': /set_config\(/,
  'a volatile function in an update':
    /^\s*(update|with[\s\S]*?\bupdate)\b[\s\S]*(clock_timestamp|random)\(/,
  'a function of the moment in COALESCE or CASE in an update':
    /^\s*update\b[\s\S]*(coalesce\([^()]*|\bcase\b(?:(?!\bend\b)[\s\S])*)(_timestamp\(|\bnow\(|current_date)/,
  'a text that becomes an array in an update':
    /^\s*(update|with[\s\S]*?\bupdate\b)[\s\S]*from \(select[^)]*"::text\[\]/,
  'a value or volatile function where a conflict is updated':
    /on conflict[\s\S]*?do update set(?:(?!\bwhere\b|\breturning\b)[\s\S])*(\$\d|clock_timestamp|random\()/,
  'an INSERT of a SELECT without RETURNING or ON CONFLICT is a COPY':
    /insert into(?:(?!\bon conflict\b|\breturning\b)[\s\S])*\bselect\b(?![\s\S]*(\bon conflict\b|\breturning\b))/,
  'a table is read after the same statement has written it':
    /insert into (\w+)\b[\s\S]*?\breturning\b[\s\S]*\b(?:from|join) \1\b/,
  'a snapshot of one node': /pg_export_snapshot|set transaction snapshot/,
  'rows of a temporary table as a condition beside a table that is left joined': new RegExp(
    `left join ${table}[\\s\\S]*${isTemporary}|${isTemporary}[\\s\\S]*left join ${table}`,
  ),
  'a temporary table beside `not exists`': /pg_temp\.[\s\S]*not exists|not exists[\s\S]*pg_temp\./,
}

/**
 * The noted statements that a cluster would not run on one node, each with the reason. `url` is a migrated database; a
 * PostgreSQL before 16 cannot explain statements without their values, and checks none.
 */
export async function findUnroutable(url: string, folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const noted = readdirSync(folder).flatMap((file) =>
    JSON.parse(readFileSync(join(folder, file), 'utf8')),
  )
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const found: string[] = []
  try {
    const { rows } = await client.query(
      `select current_setting('server_version_num')::integer < 160000 as is_old`,
    )
    if (rows[0].is_old) return []
    for (const text of new Set<string>(noted)) {
      if (ofTests.some((one) => text.includes(one))) continue
      const reason = reasonOf(text) ?? (await reasonOfPlan(client, text))
      if (reason) found.push(`${reason}: ${text}`)
    }
  } finally {
    await client.end()
  }
  return found
}

function reasonOf(text: string): string | undefined {
  return Object.keys(refused).find((reason) => refused[reason]?.test(text)) ?? reasonOfInserts(text)
}

const isOfAccount = new RegExp(`\\b(from|join) ${table}`)

/** A cluster sends the rows of a CTE that are inserted to every node, unless a table of the account is beside them. */
function reasonOfInserts(text: string): string | undefined {
  const names = [...text.matchAll(/(\w+)(?: \([^)]*\))? as (?:materialized )?\(/g)].map(
    ([, name]) => name,
  )
  const isOfCte = new RegExp(`\\b(from|join) (${names.join('|')})\\b`)
  const inserts = text.match(/insert into (?:(?!\breturning\b)[\s\S])*/g) ?? []
  const ofCtes = names.length > 0 ? inserts.filter((insert) => isOfCte.test(insert)) : []
  if (!ofCtes.every((insert) => isOfAccount.test(insert)))
    return 'an INSERT of rows of a CTE goes to every node'
  return ofCtes.every((insert) => /^insert into \w+ as /.test(insert))
    ? undefined
    : 'an INSERT of rows of a CTE on one node needs an alias to return them'
}

async function reasonOfPlan(client: pg.Client, text: string): Promise<string | undefined> {
  if (!/^\s*(select|with|insert|update|delete|copy)\b/.test(text)) return undefined
  // Temporary tables are those of another session.
  if (/pg_temp\.|^\s*copy/.test(text)) return reasonOfText(text)
  const { rows } = await client.query(`explain (generic_plan, format json) ${text}`)
  const open = nodesOf(rows[0]['QUERY PLAN'][0].Plan).find(readsAllAccounts)
  return open && `${open['Relation Name']} is read without the account`
}

function readsAllAccounts(node: PlanNode): boolean {
  const { 'Relation Name': table = '', 'Node Type': type } = node
  if (!distributedTables.includes(table) || type === 'ModifyTable') return false
  const column = table === 'accounts' ? 'id' : 'account_id'
  const conditions = nodesOf(node).map((each) => JSON.stringify(each))
  return !new RegExp(`\\b${column} = \\$\\d`).test(conditions.join())
}

/** Counts tables and conditions: a plan would say more. */
function reasonOfText(text: string): string | undefined {
  const tables = text.match(
    new RegExp(`\\b(from|join|update|using)\\s+"?(${distributedTables.join('|')})\\b`, 'g'),
  )
  const conditions = text.match(/account_id"? = [$']?\d|\bid = \$\d+ for/g)
  return (tables?.length ?? 0) > (conditions?.length ?? 0)
    ? 'a table is read without the account'
    : undefined
}
