import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import type { Origin } from '../../contract/operation.ts'
import type { RequestError } from '../../contract/problem.ts'
import { listedMax } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import {
  type GuardrailName,
  guardrailsOf,
  guardrailViolated,
  guardsMargins,
  listErrors,
  violationErrors,
  violationsOf,
} from '../../price-lists/guardrails.ts'
import { changedCells } from '../../price-lists/history/changed-cells.ts'
import { nextRevision } from '../../price-lists/history/record-revision.ts'
import { joinProducts } from '../../price-lists/list-rows.ts'
import { withMargin } from '../../price-lists/margin-sql.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import type { Written } from './set-prices.ts'

/** A price that violates guardrails. */
export interface ViolatingCell {
  row_id: number
  code: string
  extension_key: string
  dimension: number
  date: string | null
  old: number | null
  new: number
  violations: GuardrailName[]
}

/** Finds the places of cells in the request, in the order of the cells. */
export type FindPlaces = (
  cells: ViolatingCell[],
) => Promise<Pick<RequestError, 'pointer' | 'row' | 'line'>[]>

interface Guarded {
  written: Written
  origin: Origin
  findPlaces: FindPlaces
}

/**
 * Checks the prices just written for the next revision of a locked list. Throws `guardrail-violated`, which rolls them
 * back, unless the call overrides the guardrails.
 */
export async function rejectViolations(
  trx: Trx,
  list: PriceList,
  { written, origin, findPlaces }: Guarded,
): Promise<void> {
  if (Object.keys(guardrailsOf(list)).length === 0 || origin.override !== undefined) return
  const { cells, count, changed } = written.mayViolate
    ? await findViolating(trx, list)
    : { cells: [], count: 0, changed: written.changed }
  const ofList = listErrors(list, { changed, removed: 0 })
  if (ofList.length + count === 0) return
  const ofCells = count > 0 ? errorsOf(list, cells, await findPlaces(cells)) : []
  throw guardrailViolated([...ofList, ...ofCells], ofList.length + count)
}

const columns = ['row_id', 'code', 'extension_key', 'dimension', 'date', 'old', 'new']

async function findViolating(
  trx: Trx,
  list: PriceList,
): Promise<{ cells: ViolatingCell[]; count: number; changed: number }> {
  const price = { old: sql`old`, new: sql`new`, margin: sql`margin` }
  const priced = await withMarginsIfGuarded(trx, list)
  const { rows } = await sql<{ cells: ViolatingCell[]; count: number; changed: number }>`
    with cell as materialized (
      select ${sql.join(columns.map((name) => sql.ref(name)))}, ${violationsOf(list, price)} as violations from ${priced}
    )
    select (
        select coalesce(json_agg(violating), '[]') from (
          select * from cell where cardinality(violations) > 0 order by row_id, dimension, date limit ${listedMax}
        ) as violating
      ) as cells, (select coalesce(sum(cardinality(violations)), 0) from cell) as count,
      (select count(distinct row_id) from cell) as changed`.execute(trx)
  const { cells = [], count = 0, changed = 0 } = rows[0] ?? {}
  return { cells, count: Number(count), changed: Number(changed) }
}

/** SQL of the written prices, with margins only if a guardrail needs them: they take a third of the time. */
async function withMarginsIfGuarded(trx: Trx, list: PriceList): Promise<RawBuilder<unknown>> {
  const cells = writtenCells(list)
  if (!guardsMargins(list)) return cells
  const priced = sql`(select *, new as price from ${cells}) as cell`
  return withMargin(list, await findColumns(trx, list.account_id), priced, columns)
}

/** SQL of the prices that the next revision sets, with their products' costs. */
function writtenCells(list: PriceList): RawBuilder<unknown> {
  const { account_id, id, version } = list
  return sql`(
    select cell.row_id, r.code, r.extension_key, cell.dimension, cell.date, cell.old, cell.new, p.costs
    from ${changedCells(list, { after: version, until: nextRevision(list) })}
    join price_list_rows r on r.account_id = ${account_id} and r.price_list_id = ${id} and r.id = cell.row_id
    ${joinProducts(list)}
    where cell.change = 'priced'
  ) as cell`
}

function errorsOf(
  list: PriceList,
  cells: ViolatingCell[],
  places: Awaited<ReturnType<FindPlaces>>,
): RequestError[] {
  const errors = violationErrors(list, cells, (_, index) => places[index] ?? { pointer: '' })
  return errors.sort((a, b) => (a.row ?? 0) - (b.row ?? 0))
}
