import { sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import { readRowKeys } from '../../catalog/row-key.ts'
import type { Feed, FeedColumn } from '../../contract/feed.ts'
import { Answer, type Schemas } from '../../contract/operation.ts'
import { type RowErrors, sentences } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import { recordRevision } from '../../price-lists/history/record-revision.ts'
import { lockPriceList, type PriceList } from '../../price-lists/queries.ts'
import { answerPlanOrJob } from '../plans/enqueue-plan.ts'
import { planPrices } from '../plans/plan-prices.ts'
import { fixedKeys } from '../update-prices.ts'
import { cellColumns, rejectFaultyCell, stagedFile } from '../write/cells.ts'
import { rejectViolations } from '../write/reject-violations.ts'
import {
  findStaleCells,
  type Observation,
  rejectFutureObservation,
  skippedRows,
} from '../write/stale-cells.ts'
import { writeCells } from '../write/write-cells.ts'
import {
  computedColumns,
  extensionColumns,
  findMissingRows,
  findPublishedFeedList,
  rowIds,
} from './staged-rows.ts'

/** Sets prices from a file in the list that its query names, or plans them. */
export const feedPrices: Feed<'updatePrices'> = async (trx, { account, query, origin, job }) => {
  rejectFutureObservation(query, { pointer: '/query/observed_at' })
  const list = await findPublishedFeedList(trx, account, query, job)
  const { extensions } = await findColumns(trx, account)
  return {
    columns: [...extensionColumns(extensions), pricedColumn, ...placeColumns(list)],
    ignored: computedColumns(extensions),
    input: cellColumns(list),
    ids: rowIds(list, { extensions }),
    key: ['code', 'extension_key', 'dimension', 'date'],
    isSkipped: isUnpriced,
    read: async (rows: readonly Schemas['UpdatePricesRow'][], errors) => {
      for (const { row, position } of errors.sound(rows)) {
        rejectFaultyCell(list, row, position, errors)
        rejectFaultyPriced(row, position, errors)
      }
      const keyed = await readRowKeys(rows, extensions, keysOfFiles, errors)
      return keyed.map((cell) => ({ row: cell, position: cell.position }))
    },
    findFaults: () => findMissingRows(trx, list, job),
    write: async () => {
      // Others may have changed it while the file arrived.
      const locked = await lockPriceList(trx, account, { id: list.id })
      const skipped = await deleteStaleCells(trx, locked, query)
      if (query.plan === 'true') {
        const { observed_at } = query
        const plan = await planPrices(trx, locked, {
          cells: stagedFile.from,
          origin,
          observed_at,
          skipped,
        })
        const headers = { ...plan.headers, ...skippedRows(query, skipped) }
        return answerPlanOrJob(trx, locked, { origin, job }, new Answer(plan.body, headers))
      }
      const { updated, written } = await writeCells(trx, locked, stagedFile.from)
      // For a calendar list, months are compared, not rows.
      const unchanged = list.is_calendar ? undefined : updated - written.changed
      const stageCells = async () => stagedFile
      await rejectViolations(trx, locked, { written, origin, stageCells })
      const { observed_at, on_stale } = query
      const { priced } = written
      const change = { kind: 'update_prices', origin, job, priced, added: 0, removed: 0 } as const
      const revision = await recordRevision(trx, locked, { ...change, observed_at })
      return {
        ...{ created: 0, updated },
        ...(unchanged !== undefined && { unchanged }),
        ...(on_stale === 'skip' && { skipped }),
        revision,
      }
    },
  }
}

/** Exports include it: whether the cell has a price. A line for a cell without one sets nothing. */
const pricedColumn = { name: 'priced', type: 'boolean', isRequired: false } as const

/** The columns that say which of a row's prices is meant, where the list has several. */
function placeColumns({ price_dimensions, is_calendar }: PriceList): FeedColumn[] {
  return [
    ...(price_dimensions.length > 1 ? [required('price_dimension', 'string')] : []),
    ...(is_calendar ? [required('date', 'date')] : []),
  ]
}

const required = (name: string, type: FeedColumn['type']) => ({ name, type, isRequired: true })

const keysOfFiles = new Set([...fixedKeys, pricedColumn.name])

const isUnpriced = (row: unknown): boolean =>
  typeof row === 'object' && row !== null && 'priced' in row && row.priced === false

function rejectFaultyPriced(
  { priced = true }: Schemas['UpdatePricesRow'],
  position: number,
  errors: RowErrors,
): void {
  if (typeof priced !== 'boolean')
    errors.add(position, pricedColumn.name, 'type', sentences.trueOrFalse)
}

/**
 * Deletes stale cells from the staged rows, and returns their number. Throws `stale-rows` unless `on_stale` is `skip`.
 */
async function deleteStaleCells(
  trx: Trx,
  list: PriceList,
  observation: Observation,
): Promise<number> {
  const { rows: expecting } = await sql`
    select from pg_temp.feed where expected_price is not null limit 1`.execute(trx)
  if (observation.observed_at === undefined && expecting.length === 0) return 0
  const { positions, count } = await findStaleCells(trx, list, stagedFile, observation)
  if (count > 0)
    await sql`delete from pg_temp.feed where position = any(${positions}::integer[])`.execute(trx)
  return count
}
