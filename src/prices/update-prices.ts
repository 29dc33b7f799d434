import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { readRowKeys } from '../catalog/row-key.ts'
import {
  Answer,
  type Handler,
  type OperationRequest,
  type Origin,
  type Schemas,
} from '../contract/operation.ts'
import { inputRows } from '../database/input-rows.ts'
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
import { dimensionIndex } from './payload.ts'
import { answerPlanOrJob } from './plans/enqueue-plan.ts'
import { planPrices } from './plans/plan-prices.ts'
import {
  type Cell,
  type CellsByRow,
  cellColumns,
  cellsOf,
  groupByRow,
  inPayloadOrder,
  positionColumn,
  rejectFaultyCell,
  rowsOf,
  withoutCells,
} from './write/cells.ts'
import { type FindPlaces, rejectViolations } from './write/reject-violations.ts'
import { setDays } from './write/set-days.ts'
import {
  findPublishedRows,
  type RowIds,
  rejectMissing,
  type SetPrices,
  setPrices,
} from './write/set-prices.ts'
import {
  findStaleCells,
  type Observation,
  rejectFutureObservation,
  skippedRows,
  stalePositions,
} from './write/stale-cells.ts'

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
  rejectFutureObservation(observation, { pointer: '/observed_at', field: 'observed_at' })
  const list = await lockListToWrite(trx, request)
  const { keyed, byRow } = await readCells(trx, list, request)
  const isObserved = observation.observed_at !== undefined || byRow.cells.some(hasExpectedPrice)
  const isAtOnce = errors.count === 0 && !isObserved
  const call = { list, request, byRow, keyed, isAtOnce, isObserved, observation }
  return query.plan === 'true' ? planUpdate(trx, call) : writeUpdate(trx, call)
}

interface UpdateCall {
  list: PriceList
  request: Request
  keyed: Cell[]
  byRow: CellsByRow
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
  const { list, request, byRow, isAtOnce } = call
  const planned = isAtOnce ? await planCells(trx, call, byRow) : undefined
  if (planned?.body.summary.rows === byRow.cells.length)
    return answerPlanOrJob(trx, list, request, planned)
  const { fresh } = await findFresh(trx, call)
  const { body, headers } = await planCells(trx, call, fresh)
  const skipped = skippedRows(call.observation, byRow.cells.length - fresh.cells.length)
  return answerPlanOrJob(trx, list, request, new Answer(body, { ...headers, ...skipped }))
}

async function writeUpdate(trx: Trx, call: UpdateCall): Promise<UpdateAnswer> {
  const { list, request, byRow, isAtOnce } = call
  const { observed_at } = call.observation
  const set = isAtOnce && !list.is_calendar ? await setPrices(trx, list, byRow) : undefined
  const { fresh, found } = await findFresh(trx, call, set?.ids)
  const done = set ?? (await write(trx, list, fresh, fresh === byRow ? found : undefined))
  const { origin } = request
  const revision = await record(trx, list, fresh, { set: done, origin, observed_at })
  const skipped = byRow.cells.length - fresh.cells.length
  return new Answer(inPayloadOrder(fresh, done.ids as number[]), {
    ...revisionHeader(revision),
    ...skippedRows(call.observation, skipped),
  })
}

/**
 * Finds the rows that the call names, and its cells that are not stale. Throws `invalid-request` with each row that is
 * not in the list.
 */
async function findFresh(
  trx: Trx,
  { list, request: { errors }, keyed, byRow, isObserved, observation }: UpdateCall,
  known?: RowIds,
): Promise<{ found: RowIds; fresh: CellsByRow }> {
  const found = known ?? (await findPublishedRows(trx, list, rowsOf(byRow)))
  rejectMissing(keyed, rowsOf(byRow), found, errors)
  errors.reject()
  const fresh = isObserved ? await withoutStaleCells(trx, list, byRow, observation) : byRow
  return { found, fresh }
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
  return { keyed, byRow: await groupByRow(list, keyed, errors) }
}

interface Recorded {
  set: SetPrices
  origin: Origin
  observed_at: string | undefined
}

/** Records the written prices as a revision. Throws `guardrail-violated`. */
async function record(
  trx: Trx,
  list: PriceList,
  byRow: CellsByRow,
  { set: { ids, written }, origin, observed_at }: Recorded,
): Promise<number> {
  await rejectViolations(trx, list, { written, origin, findPlaces: placesIn(list, byRow, ids) })
  const { priced } = written
  const change = { kind: 'update_prices', priced, added: 0, removed: 0 } as const
  return recordRevision(trx, list, { ...change, origin, observed_at })
}

const hasExpectedPrice = ({ row }: Cell): boolean => row.expected_price !== undefined

/** Returns the cells that are not stale. Throws `stale-rows` unless `on_stale` is `skip`. */
async function withoutStaleCells(
  trx: Trx,
  list: PriceList,
  byRow: CellsByRow,
  observation: Observation,
): Promise<CellsByRow> {
  const given = { from: await inputCells(trx, list, byRow), line: sql`null::integer` }
  const stale = await findStaleCells(trx, list, given, observation)
  return stale.count === 0 ? byRow : withoutCells(byRow, stalePositions(stale))
}

/** Finds violating cells in the payload. */
const placesIn =
  (list: PriceList, byRow: CellsByRow, ids: RowIds): FindPlaces =>
  async (violating) => {
    const rows = new Map(ids.map((id, row) => [id, row]))
    return violating.map(({ row_id, dimension, date }) => {
      const cell = cellsOf(byRow, rows.get(row_id) ?? 0).find(({ row }) => {
        return dimensionIndex(list, row) === dimension && (row.date ?? null) === date
      })
      return cell ? { pointer: `/payload/${cell.position}`, row: cell.position } : { pointer: '' }
    })
  }

/** The cells as a FROM item `f`. */
async function inputCells(trx: Trx, list: PriceList, { cells }: CellsByRow) {
  const input = await inputRows(trx, [positionColumn, ...cellColumns(list)], cells)
  return sql`(select * from ${input}) as f`
}

async function planCells(
  trx: Trx,
  { list, request: { origin }, observation: { observed_at } }: UpdateCall,
  byRow: CellsByRow,
): Promise<Answer<Schemas['Plan']>> {
  return planPrices(trx, list, { cells: await inputCells(trx, list, byRow), origin, observed_at })
}

async function write(
  trx: Trx,
  list: PriceList,
  byRow: CellsByRow,
  found: RowIds | undefined,
): Promise<SetPrices> {
  if (!list.is_calendar) return setPrices(trx, list, byRow)
  const ids = found ?? (await findPublishedRows(trx, list, rowsOf(byRow)))
  return { ids, written: await setDays(trx, list, byRow, ids as number[]) }
}
