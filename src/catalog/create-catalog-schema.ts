import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import { type Column, findColumns, groupColumns } from './columns.ts'
import { schemaOf } from './read-catalog-schema.ts'
import { appendColumns, newColumns, readDeclaration } from './schema-rules.ts'

/** Declares the account's columns: appends to them, or replaces them while there are no products. */
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
    if ((!appended || extensionsAppended) && (await hasProducts(trx, account))) {
      throw new Problem(
        'schema-in-use',
        'There are products: only attributes and costs can be appended, nothing else changed.',
      )
    }
    const columns = appended ?? newColumns(declared)
    await replaceColumns(trx, account, columns)
    return schemaOf(groupColumns(columns))
  })
}

/** Product loads hold a key share lock on the account while they rely on its columns. */
async function lockCatalog(trx: Trx, account: number): Promise<void> {
  await trx.selectFrom('accounts').select('id').where('id', '=', account).forUpdate().execute()
}

async function hasProducts(trx: Trx, account: number): Promise<boolean> {
  const row = await trx
    .selectFrom('products')
    .select('id')
    .where('account_id', '=', account)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

async function replaceColumns(trx: Trx, account: number, columns: Column[]): Promise<void> {
  await trx.deleteFrom('catalog_columns').where('account_id', '=', account).execute()
  await sql`
    insert into catalog_columns (account_id, name, kind, type, allowed_values, ordinal, letter, position)
    select ${account}, name, kind, type, nullif(allowed_values, 'null'), ordinal, letter,
      row_number() over (order by length(letter), letter)
    from jsonb_to_recordset(${JSON.stringify(columns)}::jsonb)
      as input (name text, kind text, type text, allowed_values jsonb, ordinal integer, letter text)`.execute(
    trx,
  )
}
