import { type Kysely, sql } from 'kysely'

/**
 * The extensions of a row as one text, `["UK","boys"]`. Under row-level security an index is searched only with
 * operators that cannot leak, which text has and arrays have not: by `extensions` a key would be looked up by its code
 * alone, and a code with thousands of extensions read whole for each of them. The index is a third smaller, too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const keys = {
    products: sql`account_id, code, extension_key`,
    price_list_rows: sql`account_id, price_list_id, code, extension_key`,
  }
  for (const [name, columns] of Object.entries(keys)) {
    const table = sql.table(name)
    const [key, check] = [sql.ref(`${name}_key`), sql.ref(`${name}_extension_key_check`)]
    await sql`alter table ${table} no force row level security`.execute(db)
    await sql`alter table ${table} add column extension_key text collate "C"`.execute(db)
    await sql`update ${table} set extension_key = array_to_json(extensions)::text`.execute(db)
    await sql`
      alter table ${table} alter column extension_key set not null,
        add constraint ${check} check (extension_key = array_to_json(extensions)::text),
        drop constraint ${key}, add constraint ${key} unique (${columns}),
        force row level security`.execute(db)
  }
}
