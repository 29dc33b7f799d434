import { sql } from 'kysely'
import { lockAccount } from '../accounts/queries.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import { matchColumns } from '../catalog/matching.ts'
import { type Schemas, transaction } from '../contract/operation.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import { hasRows } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { type CompetitorSchema, describeSchema, lockCompetitorSchema } from './queries.ts'

type Input = Schemas['CompetitorSchemaInput']

/**
 * Sets the columns that identify competitor prices. Throws `schema-in-use` for a different schema once there are
 * prices.
 */
export const createCompetitorSchema = transaction<'createCompetitorSchema'>(
  async (trx, { account, body }) => {
    // Serializes schema changes and keeps the columns from changing; product loads continue.
    await lockAccount(trx, account)
    const present = await lockCompetitorSchema(trx, account, 'for update')
    const isInUse = present !== undefined && (await hasRows(trx, 'competitor_prices', account))
    if (isInUse && isSame(present, body)) return describeSchema(trx, account, present)
    const schema = readSchema(body, await findColumns(trx, account))
    if (isInUse) {
      throw new Problem(
        'schema-in-use',
        'There are competitor prices under another schema; it can no longer be replaced.',
      )
    }
    await putSchema(trx, account, schema)
    return describeSchema(trx, account, schema)
  },
)

function isSame({ columns, is_dated }: CompetitorSchema, input: Input): boolean {
  const names = JSON.stringify(columns.map(({ name }) => name))
  return names === JSON.stringify(input.attributes_config) && is_dated === input.is_dated
}

/** The schema of the request. Throws `invalid-request` with all columns that the catalog lacks. */
function readSchema(input: Input, catalog: Columns): CompetitorSchema {
  const known = matchColumns(catalog)
  const faults: RequestError[] = []
  const columns = input.attributes_config.flatMap((wanted, index) => {
    const column = known.get(wanted)
    if (column) {
      const { name, type, allowed_values } = column
      return { name, type, allowed_values }
    }
    const message = 'must be "code", an attribute or an extension of the catalog'
    faults.push({ pointer: `/attributes_config/${index}`, code: 'unknown_column', message })
    return []
  })
  if (faults.length > 0) throw invalidRequest(faults)
  return { columns, is_dated: input.is_dated ?? false }
}

async function putSchema(trx: Trx, account: number, schema: CompetitorSchema): Promise<void> {
  await sql`
    insert into competitor_schemas as present (account_id, columns, is_dated)
    values (${account}, ${JSON.stringify(schema.columns)}::jsonb, ${schema.is_dated})
    on conflict (account_id) do update set
      columns = excluded.columns, is_dated = excluded.is_dated, created_at = excluded.created_at
    where (present.columns, present.is_dated) is distinct from (excluded.columns, excluded.is_dated)`.execute(
    trx,
  )
}
