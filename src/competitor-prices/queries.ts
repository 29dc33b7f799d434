import { sql } from 'kysely'
import { type Column, readColumns, type StoredColumn } from '../catalog/columns.ts'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'

/** A column of a competitor schema, as it was in the catalog when the schema was created. */
export type SchemaColumn = Pick<Column, 'name' | 'type' | 'allowed_values'>

/** The columns that identify a competitor price. */
export interface CompetitorSchema {
  columns: SchemaColumn[]
  is_dated: boolean
}

type Lock = 'for update' | 'for key share'

/** The account's schema; undefined if there is none yet. */
export async function findCompetitorSchema(
  trx: Trx,
  account: number,
): Promise<CompetitorSchema | undefined> {
  const row = await selectSchema(trx, account).executeTakeFirst()
  return row && readSchema(row)
}

/** As `findCompetitorSchema`, locked: loads hold it for key share, changes for update. */
export async function lockCompetitorSchema(
  trx: Trx,
  account: number,
  lock: Lock,
): Promise<CompetitorSchema | undefined> {
  const schema = selectSchema(trx, account)
  const locked = lock === 'for update' ? schema.forUpdate() : schema.forKeyShare()
  const row = await locked.executeTakeFirst()
  return row && readSchema(row)
}

function selectSchema(trx: Trx, account: number) {
  return trx
    .selectFrom('competitor_schemas')
    .select(['columns', 'is_dated'])
    .where('account_id', '=', account)
}

function readSchema(row: { columns: unknown; is_dated: boolean }): CompetitorSchema {
  return { columns: readColumns(row.columns as StoredColumn[]), is_dated: row.is_dated }
}

/**
 * The schema as the contract shows it, with the number of prices and the day of the newest; without prices, the day the
 * schema was created.
 */
export async function describeSchema(
  trx: Trx,
  account: number,
  schema: CompetitorSchema,
): Promise<Schemas['CompetitorSchema']> {
  const madeAt = sql`select created_at from competitor_schemas where account_id = ${account}`
  const output = await trx
    .selectFrom('competitor_prices')
    .select(sql<number>`count(*)`.as('total'))
    .select(sql<string>`coalesce(max(latest_update), (${madeAt}))::date`.as('latest_update'))
    .where('account_id', '=', account)
    .executeTakeFirstOrThrow()
  return { input: { dimensions: schema.columns.map(({ name }) => name) }, output }
}
