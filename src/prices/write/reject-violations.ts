import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import type { Origin } from '../../contract/operation.ts'
import { listedMax } from '../../contract/row-errors.ts'
import { onlyRow } from '../../database/only-row.ts'
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
import { type GivenCells, placeOf } from './cells.ts'
import type { Written } from './set-prices.ts'

interface Guarded {
  written: Written
  origin: Origin
  /** Stages the prices of the call. */
  stageCells: () => Promise<GivenCells>
}

/**
 * Checks the prices just written for the next revision of a locked list. Throws `guardrail-violated`, which rolls them
 * back, unless the call overrides the guardrails.
 */
export async function rejectViolations(
  trx: Trx,
  list: PriceList,
  { written, origin, stageCells }: Guarded,
): Promise<void> {
  if (Object.keys(guardrailsOf(list)).length === 0 || origin.override !== undefined) return
  const { count, changed } = written.mayViolate
    ? await countViolations(trx, list)
    : { count: 0, changed: written.changed }
  const ofList = listErrors(list, { changed, removed: 0 })
  if (ofList.length + count === 0) return
  const cells = count > 0 ? await findViolating(trx, list, await stageCells()) : []
  const ofCells = violationErrors(list, cells, placeOf)
  throw guardrailViolated([...ofList, ...ofCells], ofList.length + count)
}

async function countViolations(
  trx: Trx,
  list: PriceList,
): Promise<{ count: number; changed: number }> {
  return onlyRow<{ count: number; changed: number }>(trx)`
    select coalesce(sum(cardinality(violations)), 0) as count, count(distinct row_id) as changed
    from ${await judgedCells(trx, list)}`
}

interface ViolatingCell {
  position: number
  line: number | null
  old: number | null
  new: number
  violations: GuardrailName[]
}

/** The first violating cells, in the order of the call. */
async function findViolating(
  trx: Trx,
  list: PriceList,
  { from, line }: GivenCells,
): Promise<ViolatingCell[]> {
  // Materialized, because Citus on PostgreSQL 15 and 16 refuses outer joins beside staged rows.
  const { rows } = await sql<ViolatingCell>`
    with cell as materialized (
      select * from ${await judgedCells(trx, list)} where cardinality(violations) > 0
    )
    select f.position, ${line} as line, cell.old, cell.new, to_json(cell.violations) as violations
    from cell join ${from} on f.code = cell.code and f.extension_key = cell.extension_key
      and f.dimension = cell.dimension and f.date is not distinct from cell.date
    order by f.position limit ${listedMax}`.execute(trx)
  return rows
}

const columns = ['row_id', 'code', 'extension_key', 'dimension', 'date', 'old', 'new']

/** SQL of the written prices with the guardrails that each violates. */
async function judgedCells(trx: Trx, list: PriceList): Promise<RawBuilder<unknown>> {
  const price = { old: sql`old`, new: sql`new`, margin: sql`margin` }
  const priced = await withMarginsIfGuarded(trx, list)
  const shown = sql.join(columns.map((name) => sql.ref(name)))
  return sql`(select ${shown}, ${violationsOf(list, price)} as violations from ${priced}) as cell`
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
