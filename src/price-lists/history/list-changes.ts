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
import { tooManyRequests } from '../../contract/problem.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import { AccountBudget } from '../../lib/account-budget.ts'
import { ofList } from '../publication.ts'
import { findPriceList, type PriceList } from '../queries.ts'
import { keyedCells } from './changed-cells.ts'
import { changePercent, type DiffCell, shownCell } from './diff-price-list.ts'
import { historyNotKept } from './moments.ts'

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
  const { wait = 0 } = request.query
  if (wait === 0 || page.results.length > 0 || page.has_more) return page
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
    current = await readChanges(request)
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
    const cells = await findCells(trx, list, columns, { place, last, limit })
    const shown = cells.slice(0, limit)
    const next =
      cells.length > limit ? placeAfter(shown, place) : { revision: last.revision, read: 0 }
    return {
      results: shown.map(showChange(list, columns)),
      next: cursorOf(list, next),
      revision: list.version,
      has_more: cells.length > limit || last.hasMore,
    }
  })
}

/** How far a reader has come: through a whole revision, or through its first `read` changes if `read` is above 0. */
interface Place {
  revision: number
  read: number
}

const cursorOf = ({ id }: PriceList, { revision, read }: Place): string =>
  Buffer.from(`${id}.${revision}.${read}`).toString('base64url')

/**
 * Parses `after`. Throws `invalid-request` if it is ahead of the list or belongs to another one, and
 * `history-not-kept`.
 */
function readPlace(list: PriceList, after: string): Place {
  const reject = (message: string) =>
    invalidRequest([{ pointer: '/query/after', code: 'range', message }])
  const isRevision = /^\d{1,9}$/.test(after)
  const [, id, revision, read] =
    /^(\d+)\.(\d{1,9})\.(\d{1,15})$/.exec(Buffer.from(after, 'base64url').toString()) ?? []
  if (!isRevision && Number(id) !== list.id)
    throw reject('must be a revision or a next of this list')
  const place = isRevision
    ? { revision: Number(after), read: 0 }
    : { revision: Number(revision), read: Number(read) }
  if (place.revision > list.version) throw reject(`the newest revision is ${list.version}`)
  const oldest = place.read > 0 ? place.revision - 1 : place.revision
  if (oldest < list.oldest_revision) throw historyNotKept(list)
  return place
}

const firstRevision = ({ revision, read }: Place): number => (read > 0 ? revision : revision + 1)

/**
 * The last revision on a page. Nearly every revision has a change, so a page looks at few more revisions than it shows.
 */
async function lastRevision(
  trx: Trx,
  list: PriceList,
  place: Place,
  { until, limit }: { until: number; limit: number },
): Promise<LastRevision | undefined> {
  const isOnPage = sql`before < ${limit + place.read}`
  const { rows } = await sql<{ revision: number | null; changes: number | null }>`
    select max(revision) filter (where ${isOnPage}) as revision, max(before + own) filter (where ${isOnPage}) as changes
    from (
      select revision, priced + added + removed as own,
        sum(priced + added + removed) over (order by revision) - (priced + added + removed) as before
      from list_revisions
      where ${ofList(list)} and revision >= ${firstRevision(place)} and revision <= ${until}
      order by revision limit ${limit + 1}
    ) as revisions`.execute(trx)
  const { revision = null, changes } = rows[0] ?? {}
  const newest = Math.min(until, list.version)
  return revision === null
    ? undefined
    : { revision, changes: Number(changes), hasMore: revision < newest }
}

interface LastRevision {
  revision: number
  /** How many changes there are up to it. */
  changes: number
  hasMore: boolean
}

interface FoundCell extends Omit<DiffCell, 'id'> {
  revision: number
  at: Date
}

function findCells(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  { place, last, limit }: { place: Place; last: LastRevision; limit: number },
): Promise<FoundCell[]> {
  const revisions = { after: firstRevision(place) - 1, until: last.revision }
  const statement = sql<FoundCell>`
    select cell.*, v.at, ${changePercent(sql`cell.old`, sql`cell.new`)} as change_percent
    from (
      select cell.revision, cell.row_id as pk, product_id, code, extensions, cell.dimension, cell.date, cell.change,
        case when cell.change <> 'added' then coalesce(cell.old, 0) end as old,
        case when cell.change <> 'removed' then coalesce(cell.new, 0) end as new,
        cell.change <> 'removed' and cell.new is not null as priced
      from ${keyedCells(list, revisions, last.changes)}
    ) as cell
    join list_revisions v on v.account_id = ${list.account_id} and v.price_list_id = ${list.id} and v.revision = cell.revision
    order by cell.revision, ${keyOrder(columns)}, dimension, date offset ${place.read} limit ${limit + 1}`
  const { after, until } = revisions
  const file = `\`/api/v1/price_list/${list.id}/diff/?from=${after}&to=${until}\` as a file (\`Accept: text/csv\`)`
  const advice = `Take a smaller \`limit\`, or ${file}; then go on with \`after=${until}\`.`
  return withinReadTime(advice, async () => (await statement.execute(trx)).rows)
}

function placeAfter(shown: FoundCell[], place: Place): Place {
  const { revision } = shown.at(-1) as FoundCell
  const read = shown.filter((cell) => cell.revision === revision).length
  return { revision, read: revision === place.revision ? place.read + read : read }
}

function showChange(list: PriceList, columns: Columns) {
  const show = shownCell(list, columns)
  return (cell: FoundCell) => ({
    revision: cell.revision,
    at: cell.at.toISOString(),
    ...show(cell),
  })
}
