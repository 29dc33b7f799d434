import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { readRowKeys } from '../catalog/row-key.ts'
import { Answer, type Handler, type OperationRequest, type Schemas } from '../contract/operation.ts'
import { inputRowsToJoin } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { rejectBusy, whenListIsFree } from '../jobs/list-order.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { recordRevision, revisionHeader } from '../price-lists/history/record-revision.ts'
import {
  lockPriceList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../price-lists/queries.ts'
import { answerPlanOrJob } from './plans/enqueue-plan.ts'
import { planPrices } from './plans/plan-prices.ts'
import {
  type Cell,
  cellColumns,
  type GivenCells,
  positionColumn,
  rejectFaultyCell,
  rowsOf,
  uniqueCells,
} from './write/cells.ts'
import { rejectViolations } from './write/reject-violations.ts'
import { findPublishedRows, rejectMissing, type Written } from './write/set-prices.ts'
import {
  findStaleCells,
  type Observation,
  rejectFutureObservation,
  skippedRows,
  stalePositions,
} from './write/stale-cells.ts'
import { writeCellsInOrder } from './write/write-cells.ts'

export const fixedKeys = new Set([
  ...['code', 'extensions', 'price', 'expected_price', 'price_dimension', 'date'],
])

/** Sets prices in the published version. Returns the ids of the rows in payload order, each once. */
export const updatePrices: Handler<'updatePrices'> = (request) =>
  whenListIsFree(() => request.inAccount((trx) => update(trx, request)))

type Request = OperationRequest<'updatePrices'>
type UpdateAnswer = Answer<number[] | Schemas['Plan'] | Schemas['JobInfo']>

async function update(trx: Trx, request: Request): Promise<UpdateAnswer> {
  const { body, query, errors } = request
  const observation = { ...query, ...body }
  const place =
    body.observed_at === undefined
      ? { pointer: '/query/observed_at' }
      : { pointer: '/observed_at', field: 'observed_at' }
  rejectFutureObservation(observation, place)
  const list = await lockListToWrite(trx, request)
  const { keyed, cells } = await readCells(trx, list, request)
  const isObserved = observation.observed_at !== undefined || cells.some(hasExpectedPrice)
  const isAtOnce = errors.count === 0 && !isObserved
  const call = { list, request, cells, keyed, isAtOnce, isObserved, observation }
  return query.plan === 'true' ? planUpdate(trx, call) : writeUpdate(trx, call)
}

interface UpdateCall {
  list: PriceList
  request: Request
  keyed: Cell[]
  /** Each once. */
  cells: Cell[]
  /**
   * Whether rows are written or planned before they are looked up. If one is not in the list, the transaction rolls
   * back.
   */
  isAtOnce: boolean
  /** Whether a cell may be stale. */
  isObserved: boolean
  observation: Observation
}

async function planUpdate(trx: Trx, call: UpdateCall): Promise<UpdateAnswer> {
  const { list, request, cells, isAtOnce } = call
  const planned = isAtOnce ? await planCells(trx, call, cells) : undefined
  if (planned?.body.summary.rows === cells.length)
    return answerPlanOrJob(trx, list, request, planned)
  const fresh = await findFresh(trx, call)
  const { body, headers } = await planCells(trx, call, fresh)
  const skipped = skippedRows(call.observation, cells.length - fresh.length)
  return answerPlanOrJob(trx, list, request, new Answer(body, { ...headers, ...skipped }))
}

async function writeUpdate(trx: Trx, call: UpdateCall): Promise<UpdateAnswer> {
  const { list, cells, isAtOnce } = call
  const write = async (some: Cell[]) =>
    writeCellsInOrder(trx, list, (await stageCells(trx, list, some)).from)
  const done = isAtOnce ? await write(cells) : undefined
  const isWhole = done?.updated === rowsOf(cells).length
  const fresh = isWhole ? cells : await findFresh(trx, call)
  const { ids, written } = isWhole ? done : await write(fresh)
  const revision = await record(trx, call, fresh, written)
  const skipped = skippedRows(call.observation, cells.length - fresh.length)
  return new Answer(ids, { ...revisionHeader(revision), ...skipped })
}

/**
 * Finds the cells that are not stale. Throws `invalid-request` with each row that is not in the list, and `stale-rows`
 * unless `on_stale` is `skip`.
 */
async function findFresh(
  trx: Trx,
  { list, request: { errors }, keyed, cells, isObserved, observation }: UpdateCall,
): Promise<Cell[]> {
  const rows = rowsOf(cells)
  rejectMissing(keyed, rows, await findPublishedRows(trx, list, rows), errors)
  errors.reject()
  if (!isObserved) return cells
  const given = await stageCells(trx, list, cells)
  const stale = stalePositions(await findStaleCells(trx, list, given, observation))
  return cells.filter(({ position }) => !stale.has(position))
}

async function lockListToWrite(trx: Trx, { account, body }: Request): Promise<PriceList> {
  const list = await lockPriceList(trx, account, { name: body.price_list_name })
  rejectUnmanaged(list)
  await rejectBusy(trx, account, list.id)
  rejectUnpublished(list)
  return list
}

async function readCells(trx: Trx, list: PriceList, { account, body, errors }: Request) {
  const { extensions } = await findColumns(trx, account)
  await mapCooperatively(errors.sound(body.payload), ({ row, position }) =>
    rejectFaultyCell(list, row, position, errors),
  )
  const keyed = await readRowKeys(body.payload, extensions, fixedKeys, errors)
  return { keyed, cells: await uniqueCells(list, keyed, errors) }
}

/** Records the written prices as a revision. Throws `guardrail-violated`. */
async function record(
  trx: Trx,
  { list, request: { origin }, observation: { observed_at } }: UpdateCall,
  cells: Cell[],
  written: Written,
): Promise<number> {
  await rejectViolations(trx, list, {
    written,
    origin,
    stageCells: () => stageCells(trx, list, cells),
  })
  const { priced } = written
  const change = { kind: 'update_prices', priced, added: 0, removed: 0 } as const
  return recordRevision(trx, list, { ...change, origin, observed_at })
}

const hasExpectedPrice = ({ row }: Cell): boolean => row.expected_price !== undefined

async function stageCells(trx: Trx, list: PriceList, cells: Cell[]): Promise<GivenCells> {
  const input = await inputRowsToJoin(trx, [positionColumn, ...cellColumns(list)], cells)
  return { from: sql`(select * from ${input}) as f`, line: sql`null::integer` }
}

async function planCells(
  trx: Trx,
  { list, request: { origin }, cells, observation: { observed_at } }: UpdateCall,
  fresh: Cell[],
): Promise<Answer<Schemas['Plan']>> {
  const { from } = await stageCells(trx, list, fresh)
  const skipped = cells.length - fresh.length
  return planPrices(trx, list, { cells: from, origin, observed_at, skipped })
}
