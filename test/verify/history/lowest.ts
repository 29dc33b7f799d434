import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { dimensions, PriceListModel } from './model.ts'
import type { Choose } from './writes.ts'

const dayMs = 86_400_000
const dayOf = (date: string) => Date.parse(`${date}T00:00:00Z`) / dayMs
const dateOf = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)
const today = () => Math.floor(Date.now() / dayMs)

/** Moves the revisions of the only list back: into the 40 days before today, in their order. */
export async function spreadRevisions(
  dataDir: string,
  { revision }: PriceListModel,
  choose: Choose,
) {
  const place = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  const password = readFileSync(join(dataDir, 'postgres-password'), 'utf8').trim()
  const [host, user, database] = [place[4] as string, 'postgres', 'pricewell']
  const client = new pg.Client({ host, user, database, password })
  await client.connect()
  const begin = (today() - 40) * dayMs
  const moments = Array.from({ length: revision }, () => begin + choose(40 * dayMs))
  const sorted = [...new Set(moments)].sort((a, b) => a - b)
  await client.query(
    `update list_revisions l set at = to_timestamp(m.ms / 1000.0)
     from unnest($1::bigint[]) with ordinality as m (ms, revision) where m.revision = l.revision`,
    [sorted],
  )
  await client.end()
}

interface Period {
  price: number
  from: number
  to: number
}

/** The prices that a cell has had, without those of mistakes and those that were never set. */
function periodsOf(
  model: PriceListModel,
  moments: ReadonlyMap<number, string>,
  { code, price_dimension }: Cell,
): Period[] {
  const at = (revision: number | null) =>
    revision === null ? Number.POSITIVE_INFINITY : Date.parse(moments.get(revision) ?? '')
  // What a mistake set counts from its undo on, if that left it in force; so does what an undo left that was a mistake.
  const begin = (revision: number): number => {
    if (!model.voided.has(revision)) return at(revision)
    return Math.min(Number.POSITIVE_INFINITY, ...(model.undoneBy.get(revision) ?? []).map(begin))
  }
  return model
    .history(code, price_dimension)
    .filter(({ isSet }) => isSet)
    .map(({ price, from, to }) => ({ price, from: begin(from), to: at(to) }))
    .filter(({ from, to }) => from < to)
}

interface Cell {
  code: string
  price_dimension: (typeof dimensions)[number]
}

/** The lowest price of each day on which there was one, from the first to the last day. */
function dailyLows(periods: Period[], first: number, last: number): [day: number, low: number][] {
  const days = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  return days.flatMap((day): [number, number][] => {
    const held = periods.filter(({ from, to }) => from < (day + 1) * dayMs && to > day * dayMs)
    return held.length === 0 ? [] : [[day, Math.min(...held.map(({ price }) => price))]]
  })
}

/** The last day up to `date` on which the price fell below one that it is still below; `date` without one. */
function reductionOf(periods: Period[], date: number): number {
  const lows = dailyLows(periods, date - 100, date)
  const present = lows.at(-1)?.[1] ?? 0
  const falls = lows.filter(([, low], index) => {
    const before = lows[index - 1]?.[1] ?? Number.NEGATIVE_INFINITY
    return low < before && present < before
  })
  return falls.at(-1)?.[0] ?? date
}

/** What `lowest_price` says before a day, or before the last reduction. */
export function lowestPrice(
  model: PriceListModel,
  moments: ReadonlyMap<number, string>,
  cell: Cell,
  { days, before }: { days: number; before?: string },
): object | null {
  const periods = periodsOf(model, moments, cell)
  const end = before === undefined ? reductionOf(periods, today()) : dayOf(before)
  const lows = dailyLows(periods, end - days, end - 1)
  if (lows.length === 0) return null
  const price = Math.min(...lows.map(([, low]) => low))
  return {
    price,
    on: dateOf(lows.findLast(([, low]) => low === price)?.[0] as number),
    from: dateOf(end - days),
    to: dateOf(end - 1),
    reduction_from: dateOf(end),
    days_known: lows.length,
    complete: Date.parse(moments.get(1) ?? '') <= (end - days) * dayMs,
  }
}
