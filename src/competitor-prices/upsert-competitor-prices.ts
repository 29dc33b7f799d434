import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import type { operations } from '../../generated/openapi.d.ts'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Feed, FeedColumn, FeedCounts, FeedId } from '../contract/feed.ts'
import { Answer, type Handler, type Schemas } from '../contract/operation.ts'
import { Problem, unavailable } from '../contract/problem.ts'
import { listedMax } from '../contract/row-errors.ts'
import { type InputColumn, inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { type StagedRows, upsertStaged } from '../database/staging-table.ts'
import { mapCooperatively, sortCooperatively } from '../lib/cooperative.ts'
import { type EntryRow, readEntryRows } from './entry-rows.ts'
import { type CompetitorSchema, findCompetitorSchema, lockCompetitorSchema } from './queries.ts'
import { findStale, type Moments, rejectStale, type Upserted } from './stale-entries.ts'

/** What to do with entries that are older than the stored ones. */
type OnStale = NonNullable<
  NonNullable<operations['upsertCompetitorPrices']['parameters']['query']>['on_stale']
>

interface Upsert extends Upserted {
  schema: CompetitorSchema
  onStale: OnStale
}

/** Creates or replaces competitor prices under the schema. Answers the hashes of both, in payload order. */
export const upsertCompetitorPrices: Handler<'upsertCompetitorPrices'> = ({
  account,
  body,
  query: { on_stale: onStale = 'write' },
  errors,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const schema = await lockCompetitorSchema(trx, account, 'for key share')
    if (!schema) throw noSchema()
    const read = await readEntryRows(body, schema, errors)
    const entries = await uniqueRows(read, errors, ({ hash }) => hash)
    errors.reject()
    const rows = entries.map(({ row }) => row)
    const input = await inputRows(trx, inputColumns(schema), rows)
    return upsertEntries(trx, { account, schema, onStale, input, calledAt: now }, entries)
  })

/** The hashes of the entries in payload order. */
async function answerOf(
  entries: Positioned<EntryRow>[],
  createdHashes: ReadonlySet<string>,
): Promise<Record<'created' | 'updated', string[]>> {
  const [created, updated]: [string[], string[]] = [[], []]
  const inPayloadOrder = await sortCooperatively(entries, (a, b) => a.position - b.position)
  await mapCooperatively(inPayloadOrder, ({ row: { hash } }) =>
    (createdHashes.has(hash) ? created : updated).push(hash),
  )
  return { created, updated }
}

/** Competitor prices from a file. The schema is locked last, when all rows are staged. */
export const feedCompetitorPrices: Feed<'upsertCompetitorPrices'> = async (
  trx,
  { account, query: { on_stale: onStale = 'write' }, job },
) => {
  const schema = await findCompetitorSchema(trx, account)
  if (!schema) throw noSchema()
  const columns = schema.columns.map(({ name, type }): FeedColumn => {
    return { name, type: type === 'boolean' ? 'boolean text' : 'string', isRequired: true }
  })
  return {
    columns,
    ignored: [],
    ids: entryIds(account, schema),
    input: inputColumns(schema),
    key: ['hash'],
    read: (rows: readonly Schemas['CompetitorPriceInput'][], errors) =>
      readEntryRows(rows, schema, errors),
    write: async (staged) => {
      await rejectOtherSchema(trx, account, schema)
      const calledAt =
        job === undefined
          ? now
          : sql`(select created_at from jobs where account_id = ${account} and id = ${job})`
      const { input } = staged
      return upsertFile(staged, { account, schema, onStale, input, calledAt })
    },
  }
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

/** Throws `unavailable` if the schema is no longer the one by which the rows were read. */
async function rejectOtherSchema(trx: Trx, account: number, schema: CompetitorSchema) {
  const present = await lockCompetitorSchema(trx, account, 'for key share')
  if (!isDeepStrictEqual(present, schema))
    throw unavailable('The schema changed while the file was read; send it again.')
}

/** Upserts entries sorted by hash in one statement. Answers the hashes created and updated. */
async function upsertEntries(
  trx: Trx,
  upsert: Upsert,
  entries: Positioned<EntryRow>[],
): Promise<Answer<Schemas['CompetitorHashes']>> {
  const { rows } = await sql<{
    hash: string
    created: boolean
  }>`${upsertFrom(upsert)}`.execute(trx)
  const created = new Set(rows.filter(({ created }) => created).map(({ hash }) => hash))
  if (upsert.onStale === 'write') return new Answer(await answerOf(entries, created), {})
  const found = await findStale<{ hash: string }>(trx, upsert, ['hash'], entries.length)
  const stale = new Map(found.map((moments) => [moments.hash, moments]))
  if (upsert.onStale === 'reject') rejectStale(inPayloadOrder(entries, stale))
  const others = entries.filter(({ row: { hash } }) => !stale.has(hash))
  const skipped = upsert.onStale === 'skip' && { 'skipped-rows': String(stale.size) }
  return new Answer(await answerOf(others, created), { ...skipped })
}

function inPayloadOrder(
  entries: Positioned<EntryRow>[],
  stale: ReadonlyMap<string, Moments>,
): (Moments & { position: number })[] {
  return entries
    .flatMap(({ row: { hash }, position }) => {
      const moments = stale.get(hash)
      return moments ? { ...moments, position } : []
    })
    .sort((a, b) => a.position - b.position)
}

/** As `upsertEntries`, for a file: returns counts. */
async function upsertFile(staged: StagedRows, upsert: Upsert): Promise<FeedCounts> {
  const counts = await upsertStaged(staged, upsertFrom(upsert))
  if (upsert.onStale === 'write') return counts
  type Place = { position: number; line: number }
  const stale = await findStale<Place>(staged.trx, upsert, ['position', 'line'], listedMax)
  if (upsert.onStale === 'reject') {
    rejectStale(stale)
    return counts
  }
  const skipped = stale[0]?.total ?? 0
  return { ...counts, updated: counts.updated - skipped, skipped }
}

const now = sql`now()`

/**
 * Unchanged rows are not written, stale ones only with `write`. The default of `latest_update` is the time of the call.
 */
function upsertFrom({ account, schema, onStale, input, calledAt }: Upsert): RawBuilder<unknown> {
  const { columns } = schema
  const dimensions = columns.map((_, index) => sql.ref(`dimension_${index}`))
  const code = dimensions[columns.findIndex(({ name }) => name === 'code')] ?? sql`null::text`
  const unlessStale =
    onStale === 'write' ? sql`` : sql`and present.latest_update <= excluded.latest_update`
  return sql`
    insert into competitor_prices as present (account_id, hash, code, dimensions, competitor_name, departure_date,
      competitor_price, latest_update)
    select ${account}, decode(hash, 'hex'), ${code}, array[${sql.join(dimensions)}], competitor_name, departure_date,
      competitor_price, coalesce(latest_update, ${calledAt})
    from ${input}
    on conflict (account_id, hash) do update set
      competitor_price = excluded.competitor_price, latest_update = excluded.latest_update
    where (present.competitor_price, present.latest_update)
      is distinct from (excluded.competitor_price, excluded.latest_update) ${unlessStale}
    returning encode(present.hash, 'hex') as hash, xmax = 0 as created`
}

/** A column for each column of the schema: a fifth faster than array literals. */
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
