import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Columns, findColumns, keyOrder } from '../../catalog/columns.ts'
import {
  type Context,
  type Handler,
  type OperationRequest,
  type Schemas,
  Stream,
} from '../../contract/operation.ts'
import { isRefusedForNow, tooManyRequests } from '../../contract/problem.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { AccountBudget } from '../../lib/account-budget.ts'
import { findPriceList, ofList, type PriceList } from '../queries.ts'
import { cursorOf, firstRevision, type Place, readPlace } from './change-cursor.ts'
import { type CodeRange, keyedCells, keyedCellsOf } from './changed-cells.ts'
import { changePercent, type DiffCell, shownCell } from './diff-price-list.ts'

type Request = Pick<OperationRequest<'listChanges'>, 'account' | 'params' | 'query' | 'inAccount'>

/** The interval between checks for a change. */
const pollMs = 500
/** How many reads of an account may wait for a change, per process. */
const waitingMax = 20
const waiting = new WeakMap<Context, AccountBudget>()

/**
 * Every change after a place, by revision, code and extensions. With `wait`, the response waits for the first change.
 * Throws `history-not-kept`, and `too-many-requests` if 20 reads of the account already wait.
 */
export const listChanges: Handler<'listChanges'> = async (request, context) => {
  const page = await readChanges(request)
  const { wait = 0, until = Number.POSITIVE_INFINITY } = request.query
  // Revisions up to the newest one change no more.
  const isComplete = until <= page.revision
  if (wait === 0 || isComplete || page.results.length > 0 || page.has_more) return page
  const budget = waiting.get(context) ?? new AccountBudget(Number.POSITIVE_INFINITY)
  waiting.set(context, budget)
  if (budget.of(request.account) >= waitingMax)
    throw tooManyRequests(`${waitingMax} reads of this account wait for changes already.`, 5)
  const open = (gone: AbortSignal) => {
    gone.addEventListener('abort', budget.take(request.account, 1), { once: true })
    return waitForChanges(request, page, AbortSignal.any([gone, context.stopping]))
  }
  return new Stream('application/json; charset=utf-8', open)
}

async function* waitForChanges(
  request: Request,
  page: Schemas['ChangePage'],
  signal: AbortSignal,
): AsyncGenerator<string> {
  const until = performance.now() + (request.query.wait ?? 0) * 1000
  let current = page
  const isEmpty = () => current.results.length === 0 && !current.has_more
  while (isEmpty() && performance.now() < until && !signal.aborted) {
    await sleep(pollMs, undefined, { signal }).catch(() => undefined)
    current = await readChanges(request).catch((error: unknown) => {
      if (isRefusedForNow(error)) return current
      throw error
    })
  }
  yield JSON.stringify(current)
}

function readChanges({
  account,
  params,
  query,
  inAccount,
}: Request): Promise<Schemas['ChangePage']> {
  return inAccount(async (trx) => {
    const list = await findPriceList(trx, account, { id: params.id })
    const place = readPlace(list, query.after)
    const limit = query.limit ?? 1000
    const last = await lastRevision(trx, list, place, { until: query.until ?? list.version, limit })
    if (last === undefined)
      return { results: [], next: cursorOf(list, place), revision: list.version, has_more: false }
    const columns = await findColumns(trx, account)
    const codes = await codesOnPage(trx, list, { place, last, limit })
    const cells = await findCells(trx, list, columns, { place, last, limit, codes })
    const shown = cells.slice(0, limit)
    const isCut = cells.length > limit
    return {
      results: shown.map(showChange(list, columns)),
      next: cursorOf(list, isCut ? placeAfter(shown, place, codes) : placeAtEnd(last, codes)),
      revision: list.version,
      has_more: isCut || last.hasMore || codes?.until !== undefined,
    }
  })
}

/** Sorting more changes for a page takes longer than looking up those of its rows. */
const sortedMax = (limit: number): number => 10 * limit

/**
 * The last revision on a page. Nearly every revision has a change, so a page looks at few more revisions than it shows.
 * Large revisions have pages of their own.
 */
async function lastRevision(
  trx: Trx,
  list: PriceList,
  place: Place,
  { until, limit }: { until: number; limit: number },
): Promise<LastRevision | undefined> {
  const newest = Math.min(until, list.version)
  const among = place.code === undefined ? newest : Math.min(newest, place.revision)
  const isOnPage = sql`(before = 0 or before < ${limit + place.read} and before + own <= ${sortedMax(limit)})`
  const { revision, changes, slices } = await onlyRow<
    Omit<LastRevision, 'hasMore' | 'revision'> & { revision: number | null }
  >(trx)`
    select max(revision) filter (where ${isOnPage}) as revision, max(before + own) filter (where ${isOnPage}) as changes,
      max(slices) as slices
    from (
      select revision, slices, priced + added + removed as own,
        sum(priced + added + removed) over (order by revision) - (priced + added + removed) as before
      from list_revisions
      where ${ofList(list)} and revision >= ${firstRevision(place)} and revision <= ${among}
      order by revision limit ${limit + 1}
    ) as revisions`
  return revision === null ? undefined : { revision, changes, slices, hasMore: revision < newest }
}

interface LastRevision {
  revision: number
  /** How many changes there are up to it. */
  changes: number
  /** The largest number of statements that wrote the changes of one revision. */
  slices: number
  hasMore: boolean
}

/**
 * The codes of a page of a large revision: those of about as many rows as have `limit` changes, because sorting all its
 * changes for each page would take seconds. Undefined for other pages.
 */
async function codesOnPage(
  trx: Trx,
  list: PriceList,
  { place, last, limit }: Omit<PageOfChanges, 'codes'>,
): Promise<CodeRange | undefined> {
  const isLarge = last.changes > sortedMax(limit)
  const { code = isLarge && place.read === 0 ? '' : undefined } = place
  if (code === undefined) return undefined
  const cellsOfRow = list.price_dimensions.length * (list.is_calendar ? 365 : 1)
  const rowsPerChange = Math.max(list.row_count / last.changes, 1 / cellsOfRow)
  const rows = Math.min(Math.ceil((limit + place.read) * rowsPerChange), rowsOnPageMax)
  const codeIn = (table: string) => sql`(
    select code from ${sql.table(table)} where ${ofList(list)} and code > ${code} order by code offset ${rows} limit 1
  )`
  const { rows: found } = await sql<{ until: string | null }>`
    select least(${codeIn('price_list_rows')}, ${codeIn('removed_rows')}) as until`.execute(trx)
  return { from: code, until: found[0]?.until ?? undefined }
}

/** Looking up the changes of so many rows takes half a second. */
const rowsOnPageMax = 50_000

interface FoundCell extends Omit<DiffCell, 'id'> {
  revision: number
  at: Date
}

interface PageOfChanges {
  place: Place
  last: LastRevision
  limit: number
  codes: CodeRange | undefined
}

function findCells(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  { place, last, limit, codes }: PageOfChanges,
): Promise<FoundCell[]> {
  const revisions = { after: firstRevision(place) - 1, until: last.revision }
  const statement = sql<FoundCell>`
    select cell.*, v.at, ${changePercent(sql`cell.old`, sql`cell.new`)} as change_percent
    from (
      select cell.revision, cell.row_id as pk, product_id, code, extensions, cell.dimension, cell.date, cell.change,
        case when cell.change <> 'added' then coalesce(cell.old, 0) end as old,
        case when cell.change <> 'removed' then coalesce(cell.new, 0) end as new,
        cell.change <> 'removed' and cell.new is not null as priced
      from ${codes ? keyedCellsOf(list, last, codes) : keyedCells(list, revisions, last.changes)}
    ) as cell
    join list_revisions v on ${ofList(list, 'v')} and v.revision = cell.revision
    order by cell.revision, ${keyOrder(columns)}, dimension, date offset ${place.read} limit ${limit + 1}`
  const { after, until } = revisions
  const file = `\`/api/v1/price_list/${list.id}/diff/?from=${after}&to=${until}\` as a file (\`Accept: text/csv\`)`
  const advice = `Take a smaller \`limit\`, or ${file}; then go on with \`after=${until}\`.`
  return withinReadTime(advice, async () => (await statement.execute(trx)).rows)
}

/** The place after a page that was cut at its limit. */
function placeAfter(shown: FoundCell[], place: Place, codes: CodeRange | undefined): Place {
  const { revision, code } = shown.at(-1) as FoundCell
  const isBegun = codes ? code === codes.from : revision === place.revision
  const read = shown.filter((cell) => (codes ? cell.code === code : cell.revision === revision))
  return { revision, code: codes && code, read: (isBegun ? place.read : 0) + read.length }
}

const placeAtEnd = ({ revision }: LastRevision, codes: CodeRange | undefined): Place => ({
  revision,
  read: 0,
  code: codes?.until,
})

function showChange(list: PriceList, columns: Columns) {
  const show = shownCell(list, columns)
  return (cell: FoundCell) => ({
    revision: cell.revision,
    at: cell.at.toISOString(),
    ...show(cell),
  })
}
