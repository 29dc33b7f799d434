import { sql } from 'kysely'
import { uniqueRows } from '../contract/duplicates.ts'
import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { type EntryRow, readEntryRows } from './entry-rows.ts'
import { type CompetitorSchema, lockCompetitorSchema } from './queries.ts'

/** Creates or replaces competitor prices under the schema. Answers the hashes of both, in payload order. */
export const upsertCompetitorPrices: Handler<'upsertCompetitorPrices'> = ({
  account,
  body,
  errors,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const schema = await lockCompetitorSchema(trx, account, 'for key share')
    if (!schema) {
      throw new Problem(
        'no-competitor-schema',
        'Make a competitor schema first: POST /api/v1/competitor_prices/schema/create_schema/.',
      )
    }
    const entries = uniqueRows(readEntryRows(body, schema, errors), errors, ({ hash }) => hash)
    errors.reject()
    const created = await upsertEntries(
      trx,
      account,
      schema,
      entries.map(({ row }) => row),
    )
    const hashes = entries.sort((a, b) => a.position - b.position).map(({ row }) => row.hash)
    return {
      created: hashes.filter((hash) => created.has(hash)),
      updated: hashes.filter((hash) => !created.has(hash)),
    }
  })

/**
 * Upserts rows that are sorted by hash, in one statement; unchanged rows are not written. Answers those created. Each
 * column of the schema travels as a column of its own, which is a fifth faster than array literals.
 */
async function upsertEntries(
  trx: Trx,
  account: number,
  { columns }: CompetitorSchema,
  entries: EntryRow[],
): Promise<ReadonlySet<string>> {
  const dimensions = columns.map((_, index) => sql.ref(`dimension_${index}`))
  const code = dimensions[columns.findIndex(({ name }) => name === 'code')] ?? sql`null::text`
  const input = await inputRows(trx, [...entryColumns, ...columns.map(dimensionColumn)], entries)
  const { rows } = await sql<{ hash: string; created: boolean }>`
    insert into competitor_prices as present (account_id, hash, code, dimensions, competitor_name, departure_date,
      competitor_price, latest_update)
    select ${account}, decode(hash, 'hex'), ${code}, array[${sql.join(dimensions)}], competitor_name, departure_date,
      competitor_price, coalesce(latest_update, now())
    from ${input}
    on conflict (account_id, hash) do update set
      competitor_price = excluded.competitor_price, latest_update = excluded.latest_update
    where (present.competitor_price, present.latest_update)
      is distinct from (excluded.competitor_price, excluded.latest_update)
    returning encode(hash, 'hex') as hash, xmax = 0 as created`.execute(trx)
  return new Set(rows.filter(({ created }) => created).map(({ hash }) => hash))
}

const entryColumns: InputColumn<EntryRow>[] = [
  { name: 'hash', type: 'text', value: ({ hash }) => hash },
  { name: 'competitor_name', type: 'text', value: ({ competitor_name }) => competitor_name },
  { name: 'departure_date', type: 'date', value: ({ departure_date }) => departure_date },
  { name: 'competitor_price', type: 'numeric', value: ({ competitor_price }) => competitor_price },
  { name: 'latest_update', type: 'timestamptz', value: ({ latest_update }) => latest_update },
]

function dimensionColumn(_: unknown, index: number): InputColumn<EntryRow> {
  return {
    ...{ name: `dimension_${index}`, type: 'text' },
    value: ({ dimensions }) => dimensions[index] ?? null,
  }
}
