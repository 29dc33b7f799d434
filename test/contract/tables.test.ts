import pg from 'pg'
import t from 'tap'
import { distributedTables, referenceTables } from '../../src/database/cluster.ts'
import { applicationRole } from '../../src/database/pool.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const client = new pg.Client({ connectionString: service.url })
await client.connect()
t.teardown(() => client.end())

async function list<T>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await client.query(text, values)).rows as T[]
}

const migrationTables = ['kysely_migration', 'kysely_migration_lock']
const tables = await list<{ name: string; oid: number; forced: boolean; enabled: boolean }>(
  `select relname as name, oid, relrowsecurity as enabled, relforcerowsecurity as forced from pg_class
   where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> all($1) order by 1`,
  [migrationTables],
)

/** The column that says whose rows a table has. */
const accountColumn = (table: string) =>
  ['accounts', 'account_names'].includes(table) ? 'id' : 'account_id'

/** The owner creates accounts, and removes what has expired, of all accounts. */
const seenByOwner = [
  ...['account_names', 'accounts', 'users', 'jobs', 'idempotency_keys'],
  ...['price_lists', 'price_list_rows', 'calendar_months', 'list_revisions', 'list_changes'],
  ...[
    'calendar_changes',
    'removed_rows',
    'confirmed_prices',
    'promotion_versions',
    'plans',
    'plan_rows',
  ],
]

t.test('every table has forced row-level security and a policy for the account', async (t) => {
  t.ok(tables.length >= 9, `${tables.length} tables`)
  for (const { name, enabled, forced, oid } of tables) {
    t.ok(enabled && forced, `${name}: row-level security is forced`)
    const policies = await list<{ condition: string; command: string; roles: string }>(
      `select pg_get_expr(polqual, polrelid) as condition, polcmd as command, polroles::text as roles
       from pg_policy where polrelid = $1`,
      [oid],
    )
    const column = accountColumn(name)
    const expected = `(${column} = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif"))`
    t.ok(
      policies.some(({ condition, command }) => condition === expected && command === '*'),
      `${name}: a policy for the account`,
    )
    for (const { condition, command, roles } of policies) {
      const isKnown =
        condition === expected ||
        (seenByOwner.includes(name) && condition === 'true' && roles !== '{0}') ||
        (name === 'users' && /app\.login/.test(condition) && command === 'r')
      t.ok(isKnown, `${name}: no policy opens more: ${condition}`)
    }
  }
})

t.test('every table has the id of its account, not null', async (t) => {
  for (const { name, oid } of tables) {
    const [column] = await list<{ attnotnull: boolean; type: string }>(
      `select attnotnull, atttypid::regtype::text as type from pg_attribute
       where attrelid = $1 and attname = $2`,
      [oid, accountColumn(name)],
    )
    t.strictSame(column, { attnotnull: true, type: 'bigint' }, name)
  }
})

t.test('every key, index and reference begins with account_id', async (t) => {
  /** E-mails are unique over all accounts (a login names no account), accounts have no account. */
  const exceptions = new Set([
    'accounts_pkey',
    'account_names_pkey',
    'account_names_name_key',
    'users_email_key',
  ])
  const indexes = await list<{ name: string; first: string }>(
    `select i.relname as name, pg_get_indexdef(i.oid, 1, true) as first from pg_index x
     join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
     where c.oid = any($1)`,
    [tables.map(({ oid }) => oid)],
  )
  t.ok(indexes.length > 10)
  for (const { name, first } of indexes) {
    if (!exceptions.has(name)) t.equal(first, 'account_id', name)
  }
  const references = await list<{ name: string; first: string; target: string }>(
    `select k.conname as name, a.attname as first, k.confrelid::regclass::text as target from pg_constraint k
     join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
     where k.contype = 'f' and k.conrelid = any($1)`,
    [tables.map(({ oid }) => oid)],
  )
  t.ok(references.length > 3)
  for (const { name, first } of references) t.equal(first, 'account_id', name)
})

t.test(
  'constraints have names of their own and texts compare code point by code point',
  async (t) => {
    const columns = await list<{ place: string; collation: string }>(
      `select attrelid::regclass::text || '.' || attname as place, c.collname as collation
     from pg_attribute a join pg_collation c on c.oid = a.attcollation
     where attrelid = any($1) and attnum > 0
       and attrelid::regclass::text || '.' || attname in (
         select table_name || '.' || column_name from information_schema.key_column_usage)`,
      [tables.map(({ oid }) => oid)],
    )
    t.ok(columns.length > 5)
    for (const { place, collation } of columns) t.equal(collation, 'C', place)
  },
)

t.test(
  'the application role is neither owner nor superuser and cannot pass row-level security',
  async (t) => {
    const [role] = await list(
      'select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin from pg_roles where rolname = $1',
      [applicationRole],
    )
    t.strictSame(role, {
      rolsuper: false,
      rolbypassrls: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolcanlogin: false,
    })
    const owned = await list(
      'select relname from pg_class where relowner = (select oid from pg_roles where rolname = $1)',
      [applicationRole],
    )
    t.strictSame(owned, [])
    const memberships = await list(
      'select from pg_auth_members where member = (select oid from pg_roles where rolname = $1)',
      [applicationRole],
    )
    t.strictSame(memberships, [])
  },
)

t.test('without an account the application role sees and writes nothing', async (t) => {
  await service.newAccount(t)
  for (const { name } of tables) {
    await client.query('begin')
    await client.query(`set local role ${applicationRole}`)
    t.equal((await client.query(`select from ${name}`)).rowCount, 0, `${name}: sees nothing`)
    await client.query('rollback')
  }
  for (const text of [
    "insert into sales (account_id, transaction_id, code, extension, quantity, revenue) values (1, 'T', 'C', '', 1, 1)",
    'truncate sales',
    'alter table sales disable row level security',
    'drop policy sales_of_account on sales',
    'create table mine (id int)',
    "insert into accounts (name) values ('mine')",
    'update accounts set name = name || 1',
  ]) {
    await client.query('begin')
    await client.query(`set local role ${applicationRole}`)
    const outcome = await client.query(text).then(
      ({ rowCount }) => rowCount,
      (error) => error.code,
    )
    t.ok(outcome === 0 || outcome === '42501', `${text}: ${outcome}`)
    await client.query('rollback')
  }
})

t.test('a cluster knows what to do with every table', async (t) => {
  const known = [...referenceTables, ...distributedTables].sort()
  t.strictSame(
    tables.map(({ name }) => name),
    known,
  )
})

t.test('no table has a trigger, which a cluster would not take', async (t) => {
  const triggers = await list(
    'select tgname from pg_trigger where tgrelid = any($1) and not tgisinternal',
    [tables.map(({ oid }) => oid)],
  )
  t.strictSame(triggers, [])
})

t.test(
  'the application role may use every sequence: rights do not travel with a table',
  async (t) => {
    const sequences = await list<{ name: string; granted: boolean }>(
      `select relname as name, has_sequence_privilege($1, oid, 'usage') as granted from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'S'`,
      [applicationRole],
    )
    t.ok(sequences.length > 5)
    for (const { name, granted } of sequences) t.ok(granted, name)
  },
)
