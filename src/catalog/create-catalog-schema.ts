import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { hasRows } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { type Column, findColumns, groupColumns } from './columns.ts'
import { schemaOf } from './read-catalog-schema.ts'
import { appendColumns, newColumns, readDeclaration } from './schema-rules.ts'

/** Declares the account's columns: appends to them, or replaces them while no product and no price list uses them. */
export const createCatalogSchema: Handler<'createCatalogSchema'> = ({
  account,
  body,
  inAccount,
}) => {
  const declared = readDeclaration(body)
  return inAccount(async (trx) => {
    await lockCatalog(trx, account)
    const present = await findColumns(trx, account)
    const appended = appendColumns(present, declared)
    const extensionsAppended =
      declared.filter(({ kind }) => kind === 'extension').length > present.extensions.length
    if (
      (!appended || extensionsAppended) &&
      (await hasRows(trx, 'products', { account_id: account }))
    ) {
      throw schemaInUse('There are products: only attributes and costs can be appended')
    }
    if (!appended && (await hasRows(trx, 'price_lists', { account_id: account }))) {
      throw schemaInUse('There are price lists: columns can only be appended')
    }
    const columns = appended ?? newColumns(declared)
    await replaceColumns(trx, account, columns)
    return schemaOf(groupColumns(columns))
  })
}

/** Waits for those that rely on the columns (`keepColumns`). */
async function lockCatalog(trx: Trx, account: number): Promise<void> {
  await trx.selectFrom('accounts').select('id').where('id', '=', account).forUpdate().execute()
}

function schemaInUse(reason: string): Problem {
  return new Problem('schema-in-use', `${reason}, nothing else changed. Nothing was written.`)
}

async function replaceColumns(trx: Trx, account: number, columns: Column[]): Promise<void> {
  await trx.deleteFrom('catalog_columns').where('account_id', '=', account).execute()
  await sql`
    insert into catalog_columns (account_id, name, kind, type, allowed_values, ordinal, letter, position)
    select ${account}, name, kind, type, nullif(allowed_values, 'null'), ordinal, letter,
      row_number() over (order by length(letter), letter collate "C")
    from jsonb_to_recordset(${JSON.stringify(columns)}::jsonb)
      as input (name text, kind text, type text, allowed_values jsonb, ordinal integer, letter text)`.execute(
    trx,
  )
}
