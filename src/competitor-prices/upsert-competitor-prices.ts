import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import type { operations } from '../../generated/openapi.d.ts'
import type { RowsByKey } from '../contract/duplicates.ts'
import type { FeedColumn, FeedCounts, FeedId, Upsert } from '../contract/feed.ts'
import { Answer, type Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { listedMax } from '../contract/row-errors.ts'
import type { InputColumn } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { type StagedRows, upsertKeys, upsertStaged } from '../database/staging-table.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { type EntryRow, readEntryRows } from './entry-rows.ts'
import { type CompetitorSchema, findCompetitorSchema, lockCompetitorSchema } from './queries.ts'
import { findStale, type Moments, rejectStale, type Upserted } from './stale-entries.ts'

/** What to do with entries that are older than the stored ones. */
type OnStale = NonNullable<
  NonNullable<operations['upsertCompetitorPrices']['parameters']['query']>['on_stale']
>

interface EntryUpsert extends Upserted {
  schema: CompetitorSchema
  onStale: OnStale
}

interface Written {
  created: string[]
  stale: (Moments & { hash: string })[]
}

/** Creates or replaces competitor prices under the schema. Returns the hashes of both, in payload order. */
export const upsertCompetitorPrices: Upsert<'upsertCompetitorPrices'> = async (
  trx,
  { account, query: { on_stale: onStale = 'write' }, job },
) => {
  const schema = await findCompetitorSchema(trx, account)
  if (!schema) throw noSchema()
  const calledAt =
    job === undefined
      ? sql`now()`
      : sql`(select created_at from jobs where account_id = ${account} and id = ${job})`
  const entries = { account, schema, onStale, calledAt }
  return {
    columns: schema.columns.map(({ name, type }): FeedColumn => {
      return { name, type: type === 'boolean' ? 'boolean text' : 'string', isRequired: true }
    }),
    ignored: [],
    ids: entryIds(account, schema),
    table: 'competitor_prices',
    input: inputColumns(schema),
    key: ['hash'],
    keyOf: ({ hash }: EntryRow) => hash,
    read: (rows: readonly Schemas['CompetitorPriceInput'][], errors) =>
      readEntryRows(rows, schema, errors),
    hold: async () =>
      isDeepStrictEqual(await lockCompetitorSchema(trx, account, 'for key share'), schema),
    write: (staged) => upsertFile(staged, { ...entries, input: staged.input }),
    upsert: (input, rows) => upsertEntries(trx, { ...entries, input }, rows.length),
    answer: (written: Written[], payload) => answerOf(written, onStale, payload),
  }
}

/** The hashes in payload order: those created, and all others that are not stale. Throws `stale-rows`. */
async function answerOf(
  written: Written[],
  onStale: OnStale,
  payload: Pick<RowsByKey<EntryRow>, 'keys' | 'positionOf'>,
): Promise<Answer<Schemas['CompetitorHashes']>> {
  const hashes = payload.keys()
  const stale = new Map(
    written.flatMap((one) => one.stale.map((moments) => [moments.hash, moments])),
  )
  const createdHashes = new Set(written.flatMap((one) => one.created))
  if (onStale === 'reject') {
    const inPayloadOrder = hashes.flatMap((hash) => {
      const moments = stale.get(hash)
      return moments ? { ...moments, position: payload.positionOf(hash) } : []
    })
    rejectStale(inPayloadOrder, stale.size)
  }
  const answer: Record<'created' | 'updated', string[]> = { created: [], updated: [] }
  await mapCooperatively(hashes, (hash) => {
    if (!stale.has(hash)) answer[createdHashes.has(hash) ? 'created' : 'updated'].push(hash)
  })
  return new Answer(answer, onStale === 'skip' ? { 'skipped-rows': String(stale.size) } : {})
}

/** The exported ids and hashes. A hash is checked even if the account has no such entry. */
function entryIds(account: number, { columns }: CompetitorSchema): FeedId[] {
  const parts = [...columns.map(({ name }) => name), 'competitor_name', 'departure_date']
  const dimensions = sql.join(columns.map((_, index) => sql.ref(`f.dimension_${index}`)))
  const was = sql`r.dimensions || array[r.competitor_name, r.departure_date::text]`
  const says = sql`array[${dimensions}, f.competitor_name, f.departure_date::text]`
  const given = sql`case when f.given_hash ~ '^[0-9a-f]{64}$' then decode(f.given_hash, 'hex') end`
  const known = sql`select ${was} from competitor_prices r where r.account_id = ${account} and r.hash = ${given}`
  const byHash = sql`select (${known}) as was, ${says} as says where f.given_hash <> f.hash`
  const byId = sql`
    select ${was} as was, ${says} as says from competitor_prices r
    where r.account_id = ${account} and r.id = f.given_id and r.hash <> decode(f.hash, 'hex')`
  return [
    { name: 'hash', type: 'text', parts, changed: byHash },
    { name: 'id', type: 'bigint', parts, changed: byId },
  ]
}

function noSchema(): Problem {
  return new Problem(
    'no-competitor-schema',
    'Make a competitor schema first: POST /api/v1/competitor_prices/schema/create_schema/.',
  )
}

/** Upserts `count` entries. Returns the hashes of those created, and the entries that were stale. */
async function upsertEntries(trx: Trx, upsert: EntryUpsert, count: number): Promise<Written> {
  const { created } = await upsertKeys(trx, upsertFrom(upsert), sql`created`)
  const stale =
    upsert.onStale === 'write'
      ? []
      : await findStale<{ hash: string }>(trx, upsert, ['hash'], count)
  return { created: created.keys, stale }
}

/** As `upsertEntries`, for a file: returns counts. */
async function upsertFile(staged: StagedRows, upsert: EntryUpsert): Promise<FeedCounts> {
  const counts = await upsertStaged(staged, upsertFrom(upsert))
  if (upsert.onStale === 'write') return counts
  type Place = { position: number; line: number }
  const stale = await findStale<Place>(staged.trx, upsert, ['position', 'line'], listedMax)
  const skipped = stale[0]?.total ?? 0
  if (upsert.onStale === 'reject') {
    rejectStale(stale, skipped)
    return counts
  }
  const { created, updated, unchanged } = counts
  return { created, updated: updated - skipped, unchanged: unchanged - skipped, skipped }
}

/**
 * Unchanged rows are not written, stale ones only with `write`. The default of `latest_update` is the time of the call.
 */
function upsertFrom({
  account,
  schema,
  onStale,
  input,
  calledAt,
}: EntryUpsert): RawBuilder<unknown> {
  const { columns } = schema
  const code = columns.findIndex(({ name }) => name === 'code')
  const unlessStale =
    onStale === 'write' ? sql`` : sql`and present.latest_update <= excluded.latest_update`
  return sql`
    insert into competitor_prices as present (account_id, hash, code, dimensions, competitor_name, departure_date,
      competitor_price, latest_update)
    ${input.rows((column) => [
      sql`${account}`,
      sql`decode(${column('hash')}, 'hex')`,
      code < 0 ? sql`null` : column(`dimension_${code}`),
      sql`array[${sql.join(columns.map((_, index) => column(`dimension_${index}`)))}]`,
      column('competitor_name'),
      column('departure_date'),
      column('competitor_price'),
      sql`coalesce(${column('latest_update')}, ${calledAt})`,
    ])}
    on conflict (account_id, hash) do update set
      competitor_price = excluded.competitor_price, latest_update = excluded.latest_update
    where (present.competitor_price, present.latest_update)
      is distinct from (excluded.competitor_price, excluded.latest_update) ${unlessStale}
    returning encode(present.hash, 'hex') as key, id, xmax = 0 as created`
}

/** One column per column of the schema: a fifth faster than array literals. */
function inputColumns({ columns }: CompetitorSchema): InputColumn<EntryRow>[] {
  return [...entryColumns, ...columns.map(dimensionColumn)]
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
    name: `dimension_${index}`,
    type: 'text',
    value: ({ dimensions }) => dimensions[index] ?? null,
  }
}
