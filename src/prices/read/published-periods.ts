import { sql } from 'kysely'
import { Problem } from '../../contract/problem.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import { arrayLiteral, readNullable } from '../../database/array-literal.ts'
import type { Trx } from '../../database/pool.ts'
import { areReadAtOnce, changedCell } from '../../price-lists/history/past-prices.ts'
import { findSlices } from '../../price-lists/history/price-walk.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import {
  chainColumns,
  isOfStay,
  presentPrices,
  priceChain,
  revisionAt,
  shorterHistory,
  wantedPrices,
} from './price-histories.ts'
import { findRevisionsSince, type RevisionsSince } from './revisions-since.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A price that was set, and when it was in force, in milliseconds. */
export interface Period {
  price: number
  from: number
  to: number
}

/**
 * Finds the prices that each wanted row had since a moment, except those of revisions that were marked as mistakes.
 * Throws `too-costly`.
 */
export async function findPeriods(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
  from: string,
): Promise<Period[][]> {
  if (wanted.length === 0) return []
  const revisions = await findRevisionsSince(trx, list, await revisionAt(trx, list, from))
  // The changes since `from` do not show whether a mistake set the price that was in force at `from`.
  const isAtOnce = areReadAtOnce(list, wanted.length) && revisions.oldestMistake === undefined
  const find = isAtOnce ? readStays : walkStays
  const stays = await withinReadTime(shorterHistory, () => find(trx, list, wanted, revisions))
  const periods: Period[][] = wanted.map(() => [])
  const since = Date.parse(from)
  for (const stay of stays)
    periods[stay.at]?.push(...periodsOf(stay, revisions).filter(({ to }) => to > since))
  return periods
}

/** A row's stay in a list, up to the last price's `ended`, which is null if the row is still there. */
interface Stay {
  /** Index of the wanted row. */
  at: number
  id: number
  /** The place of its prices: the dimension, or the day of the month. */
  place: number
  added: number
  /** The revision that set the first price. */
  since: number
  /** Each price, null if none was set, with the revision that ended it. In order once all are found. */
  prices: { price: number | null; ended: number | null }[]
}

const stayColumns = ['at', 'id', 'place', 'added_version', 'removed_version', 'since', 'price']

type Arrays = Record<string, string | null>

/** SQL of columns as array texts: an object for each row would take longer than finding it. */
const arraysOf = (columns: string[]) =>
  sql.join(columns.map((name) => sql`array_agg(${sql.ref(name)})::text as ${sql.ref(name)}`))

const readArrays = (row: Arrays | undefined, columns: string[]) =>
  columns.map((name) => readNullable(row?.[name] ?? null))

/** The stays of the wanted rows, with one price each. */
function staysOf(row: Arrays | undefined): Stay[] {
  const [at = [], id = [], place = [], added = [], removed = [], since = [], price = []] =
    readArrays(row, stayColumns)
  return at.map((index, stay) => ({
    at: index as number,
    id: id[stay] as number,
    place: place[stay] as number,
    added: added[stay] as number,
    since: Math.max(since[stay] as number, added[stay] as number),
    prices: [{ price: price[stay] ?? null, ended: removed[stay] ?? null }],
  }))
}

/** Finds stays by reading all changes of the list after a revision. */
async function readStays(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
  { first }: RevisionsSince,
): Promise<Stay[]> {
  const { rows } = await sql<Arrays>`
    with wanted as materialized (${wantedPrices(list, wanted)}),
    present (${chainColumns}) as (${presentPrices(list)}),
    stays as (select present.*, at, place, prices[place] as price from present join wanted using (walk))
    select ${arraysOf(stayColumns)} from stays`.execute(trx)
  // Which revision set a price is known once its changes are; until then, each dates from when the row was added.
  const stays = staysOf(rows[0]).map((stay) => ({ ...stay, since: stay.added }))
  await addChanges(trx, list, stays, first)
  return stays
}

/** The most past prices that a walk may find: more would take hundreds of megabytes. */
const pricesMax = 500_000

const tooManyPrices = () =>
  new Problem('too-costly', `The read finds over ${pricesMax} past prices. ${shorterHistory}`)

/**
 * Finds stays by walking back through the changes of each row after a revision, and through those before a mistake,
 * which may have changed another price of the row.
 */
async function walkStays(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
  { first, oldestMistake }: RevisionsSince,
): Promise<Stay[]> {
  const oldest = oldestMistake === undefined ? first : oldestMistake - 1
  const slices = await findSlices(trx, list, oldest)
  const { rows } = await sql<Arrays>`
    with recursive wanted as materialized (${wantedPrices(list, wanted)}),
    ${priceChain(list, { until: first, oldestSetter: oldestMistake, slices })},
    stays as (
      select chain.*, at, place, prices[place] as price from chain join wanted using (walk)
      where ${isOfStay} order by at, id, added_version, since limit ${pricesMax + 1}
    )
    select ${arraysOf(stayColumns)} from stays having count(*) <= ${pricesMax}`.execute(trx)
  if (rows.length === 0) throw tooManyPrices()
  const stays: Stay[] = []
  for (const stay of staysOf(rows[0])) {
    const last = stays.at(-1)
    const { at, id, added, since } = stay
    if (last?.at !== at || last.id !== id || last.added !== added) {
      stays.push(stay)
      continue
    }
    const former = last.prices.at(-1)
    if (former) former.ended = since
    last.prices.push(...stay.prices)
  }
  return stays
}

const changeColumns = ['revision', 'place', 'price']

/** Adds the prices that revisions after the first ended. Throws `too-costly`. */
async function addChanges(
  trx: Trx,
  { account_id, id }: PriceList,
  stays: Stay[],
  first: number,
): Promise<void> {
  if (stays.length === 0) return
  const [ids, dimensions] = [stays.map(({ id }) => id), stays.map(({ place }) => place)]
  const { rows } = await sql<Arrays>`
    select ${arraysOf(changeColumns)} from (
      select c.revision, w.place - 1 as place, c.price
      from (
        select c.revision, c.slice, ${changedCell} from list_changes c
        cross join unnest(${arrayLiteral([...new Set(dimensions)])}::integer[]) as d (dimension)
        where c.account_id = ${account_id} and c.price_list_id = ${id} and c.revision > ${first} and c.change = 'priced'
          and c.first_row_id <= ${Math.max(...ids)} and c.row_ids[cardinality(c.row_ids)] >= ${Math.min(...ids)}
      ) as c
      join unnest(${arrayLiteral(ids)}::bigint[], ${arrayLiteral(dimensions)}::integer[])
        with ordinality as w (id, dimension, place) on w.id = c.row_id and w.dimension = c.dimension
      order by c.revision desc, c.slice desc limit ${pricesMax + 1}
    ) as found
    having count(*) <= ${pricesMax}`.execute(trx)
  if (rows.length === 0) throw tooManyPrices()
  const [ended = [], place = [], price = []] = readArrays(rows[0], changeColumns)
  for (const [index, revision] of ended.entries())
    addFormer(stays[place[index] as number] as Stay, revision as number, price[index] ?? null)
  for (const stay of stays) stay.prices.reverse()
}

/**
 * Adds the price that a revision ended, the newest first. A row may have left and come back: each stay has its own
 * changes.
 */
function addFormer({ added, prices }: Stay, ended: number, price: number | null): void {
  const last = prices[0]?.ended ?? Number.POSITIVE_INFINITY
  if (ended > added && ended <= last) prices.push({ price, ended })
}

/** A price that a mistake set counts from its undo on, if that left it in force. */
function periodsOf({ since, prices }: Stay, { momentOf, undoneBy }: RevisionsSince): Period[] {
  const periods: Period[] = []
  let began = since
  for (const [index, { price, ended }] of prices.entries()) {
    // A change in another place does not end this price.
    if (index < prices.length - 1 && prices[index + 1]?.price === price) continue
    const to = ended === null ? Number.POSITIVE_INFINITY : momentOf(ended)
    const counts = undoneBy.get(began) ?? began
    if (price !== null && counts < (ended ?? Number.POSITIVE_INFINITY))
      periods.push({ price, from: momentOf(counts), to })
    began = ended ?? began
  }
  return periods
}
