import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import { findColumns, keepColumns } from '../catalog/columns.ts'
import { type ProductFilters, rejectFaultyFilters } from '../catalog/product-filters.ts'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Feed, FeedId } from '../contract/feed.ts'
import { type Schemas, transaction } from '../contract/operation.ts'
import { type RowErrors, sentences } from '../contract/row-errors.ts'
import { type StagedFaults, stagedFaults, stagedFaultsMax } from '../contract/staged-faults.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import {
  columnsOf,
  type InputColumn,
  type InsertRows,
  inputRows,
  insertRows,
} from '../database/input-rows.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { upsertStaged } from '../database/staging-table.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { planPromotions } from './plan-promotions.ts'
import {
  findListNames,
  forgetUnchanged,
  keepPromotions,
  termNames,
  terms,
  termsOf,
} from './queries.ts'

type Input = Schemas['PromotionInput']

/** Creates promotions or replaces them entirely, by name. Returns the ids of both in payload order. */
export const upsertPromotions = transaction<'upsertPromotions'>(
  async (trx, { account, body, query, errors, origin }) => {
    const columns = await keepColumns(trx, account)
    const sound = errors.sound(body)
    const listNames = new Set(sound.flatMap(({ row }) => row.price_lists ?? []))
    const lists = await findListNames(trx, account, [...listNames])
    await mapCooperatively(sound, ({ row, position }) => {
      rejectFaultyTerms(row, position, errors)
      rejectUnknownLists(row, position, lists, errors)
      rejectFaultyFilters(filtersOf(row) ?? {}, columns, position, errors)
    })
    const promotions = await uniqueRows(errors.sound(body), errors, ({ name }) => name)
    errors.reject()
    if (query.plan === 'true') {
      const input = await inputRows(trx, positionedColumns, promotions)
      return planPromotions(trx, account, input, origin)
    }
    const rows = promotions.map(({ row }) => row)
    const upserted = await upsertPromotionRows(trx, account, rows)
    const inPayloadOrder = promotions
      .map(({ position, row }) => ({ position, ...(upserted.get(row.name) as Upserted) }))
      .sort((a, b) => a.position - b.position)
    return {
      created: inPayloadOrder.filter(({ created }) => created).map(({ id }) => id),
      updated: inPayloadOrder.filter(({ created }) => !created).map(({ id }) => id),
    }
  },
)

/** Upserts promotions from a file, or plans it. Also counts the unchanged ones. */
export const feedPromotions: Feed<'upsertPromotions'> = async (trx, { account, query, origin }) => {
  const columns = await findColumns(trx, account)
  return {
    columns: [],
    ignored: [],
    ids: [promotionId(account)],
    input: promotionColumns,
    key: ['name'],
    read: async (rows: readonly Input[], errors) => {
      await mapCooperatively(errors.sound(rows), ({ row, position }) => {
        rejectFaultyTerms(row, position, errors)
        rejectFaultyFilters(filtersOf(row) ?? {}, columns, position, errors)
      })
      return errors.sound(rows)
    },
    findFaults: () => findUnknownLists(trx, account),
    hold: async () => isDeepStrictEqual(await keepColumns(trx, account), columns),
    write: async (staged) => {
      if (query.plan === 'true')
        return planPromotions(trx, account, sql`pg_temp.feed as input`, origin)
      const { names } = await onlyRow<{ names: string }>(trx)`
        select coalesce(array_agg(name), '{}')::text as names from pg_temp.feed`
      const at = await keepPromotions(trx, account, named(names))
      const { created, updated } = await upsertStaged(staged, upsertFrom(account, staged.input, at))
      return { created, updated, unchanged: await forgetUnchanged(trx, account, at) }
    },
  }
}

function promotionId(account: number): FeedId {
  return {
    name: 'id',
    type: 'bigint',
    parts: ['name'],
    changed: sql`
      select array[r.name] as was, array[f.name] as says from promotions r
      where r.account_id = ${account} and r.id = f.given_id and r.name <> f.name`,
  }
}

interface UnknownList {
  position: number
  line: number
  /** The place among the row's lists, from 1. */
  place: number
  list: string
  total: number
}

/** Finds staged rows that name an unknown price list. */
async function findUnknownLists(trx: Trx, account: number): Promise<StagedFaults> {
  const { rows } = await sql<UnknownList>`
    select position, line, place, named.list, count(*) over () as total
    from (
      select position, line, place, list
      from pg_temp.feed, unnest(price_lists) with ordinality as named (list, place)
    ) as named
    left join (select name from price_lists where account_id = ${account}) as l
      on l.name = named.list collate "C"
    where l.name is null order by position, place limit ${stagedFaultsMax}`.execute(trx)
  return stagedFaults(rows, ({ place, list }) => ({
    field: `price_lists/${place - 1}`,
    code: 'unknown_price_list',
    message: sentences.noPriceList(list),
  }))
}

function filtersOf({ product_filters }: Input): ProductFilters | undefined {
  return product_filters as ProductFilters | undefined
}

function rejectFaultyTerms(promotion: Input, position: number, errors: RowErrors): void {
  if (promotion.kind === 'percentage' && promotion.value > 100)
    errors.add(position, 'value', 'range', 'must be <= 100 for a percentage')
  if (promotion.valid_to < promotion.valid_from)
    errors.add(position, 'valid_to', 'range', 'must not be before valid_from')
}

function rejectUnknownLists(
  { price_lists }: Input,
  position: number,
  lists: ReadonlySet<string>,
  errors: RowErrors,
): void {
  for (const [index, name] of (price_lists ?? []).entries()) {
    if (!lists.has(name))
      errors.add(
        position,
        `price_lists/${index}`,
        'unknown_price_list',
        sentences.noPriceList(name),
      )
  }
}

interface Upserted {
  name: string
  id: number
  created: boolean
}

/** Upserts promotions sorted by name in one statement. Returns them by name. */
async function upsertPromotionRows(
  trx: Trx,
  account: number,
  promotions: Input[],
): Promise<Map<string, Upserted>> {
  const names = arrayLiteral(promotions.map(({ name }) => name))
  const input = await insertRows(trx, promotionColumns, promotions)
  const rows = await changePromotions(trx, account, named(names), (at) =>
    upsertFrom(account, input, at),
  )
  return new Map(rows.map((row) => [row.name, row]))
}

const named = (names: string) => sql<boolean>`name = any(${names}::text[])`

/** Upserts promotions, and keeps the previous versions of the stored ones that match `which`. */
export async function changePromotions(
  trx: Trx,
  account: number,
  which: RawBuilder<boolean>,
  upsert: (at: RawBuilder<Date>) => RawBuilder<unknown>,
): Promise<Upserted[]> {
  const at = await keepPromotions(trx, account, which)
  const { rows } = await sql<Upserted>`${upsert(at)}`.execute(trx)
  await forgetUnchanged(trx, account, at)
  return rows
}

/** SQL that upserts the input's promotions at a moment. Returns name, id and whether each was created. */
export function upsertFrom(
  account: number,
  input: InsertRows,
  at: RawBuilder<Date>,
): RawBuilder<unknown> {
  return sql`
    insert into promotions as present (account_id, ${terms}, changed_at)
    ${input.rows((column) => [sql`${account}`, ...termNames.map(column), at])}
    on conflict (account_id, name) do update set
      (${terms}, changed_at) = (${termsOf('excluded')}, excluded.changed_at)
    returning name, id, xmax = 0 as created`
}

const names = (list: string[] | undefined) => (list ? arrayLiteral(list) : null)

const promotionColumns: InputColumn<Input>[] = [
  { name: 'name', type: 'text', value: ({ name }) => name },
  { name: 'kind', type: 'text', value: ({ kind }) => kind },
  { name: 'value', type: 'numeric', value: ({ value }) => value },
  { name: 'valid_from', type: 'date', value: ({ valid_from }) => valid_from },
  { name: 'valid_to', type: 'date', value: ({ valid_to }) => valid_to },
  { name: 'price_lists', type: 'text[]', value: ({ price_lists }) => names(price_lists) },
  {
    name: 'product_filters',
    type: 'jsonb',
    value: (row) => JSON.stringify(filtersOf(row)) ?? null,
  },
  { name: 'price_dimensions', type: 'text[]', value: (row) => names(row.price_dimensions) },
]

const positionedColumns: InputColumn<Positioned<Input>>[] = [
  { name: 'position', type: 'integer', value: ({ position }) => position },
  ...columnsOf(promotionColumns, ({ row }: Positioned<Input>) => row),
]
