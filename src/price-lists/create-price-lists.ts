import { sql } from 'kysely'
import { changeSettingsVersion } from '../accounts/queries.ts'
import { type Columns, keepColumns } from '../catalog/columns.ts'
import { type ProductFilters, rejectFaultyFilters } from '../catalog/product-filters.ts'
import { uniqueRows } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { defaultMarginFormula, FormulaError, parseMarginFormula } from './margin-formula.ts'

type Input = Schemas['PriceListInput']

/** Creates price lists, empty and unpublished. Answers their ids and names in payload order. */
export const createPriceLists: Handler<'createPriceLists'> = ({
  account,
  body,
  errors,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const columns = await keepColumns(trx, account)
    await mapCooperatively(errors.sound(body), ({ row, position }) =>
      rejectFaultyList(row, position, columns, errors),
    )
    const lists = await uniqueRows(errors.sound(body), errors, ({ name }) => name)
    errors.reject()
    const inPayloadOrder = lists.sort((a, b) => a.position - b.position).map(({ row }) => row)
    return insertPriceLists(trx, account, inPayloadOrder, defaultMarginFormula(columns.costs))
  })

function rejectFaultyList(
  list: Input,
  position: number,
  columns: Columns,
  errors: RowErrors,
): void {
  if (list.valid_to < list.valid_from)
    errors.add(position, 'valid_to', 'range', 'must not be before valid_from')
  rejectFaultyFilters(list.product_filters as ProductFilters, columns, position, errors)
  if (list.margin_formula === undefined) return
  try {
    parseMarginFormula(list.margin_formula, columns.costs)
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error
    errors.add(position, 'margin_formula', 'formula', error.message)
  }
}

async function insertPriceLists(
  trx: Trx,
  account: number,
  lists: Input[],
  marginFormula: string,
): Promise<Schemas['PriceListCreated'][]> {
  const { rows } = await sql<Schemas['PriceListCreated']>`
    insert into price_lists (account_id, name, description, valid_from, valid_to, price_dimensions, margin_formula,
      product_filters, is_calendar, origin)
    select ${account}, name, description, valid_from, valid_to, price_dimensions,
      coalesce(margin_formula, ${marginFormula}), product_filters, is_calendar, 'api'
    from rows from (json_to_recordset(${JSON.stringify(lists)}::json) as (
      name text, description text, valid_from date, valid_to date, price_dimensions text[], margin_formula text,
      product_filters jsonb, is_calendar boolean
    )) with ordinality as input
    order by ordinality
    on conflict (account_id, name) do nothing
    returning id, name`.execute(trx)
  if (rows.length < lists.length) {
    const created = new Set(rows.map(({ name }) => name))
    const taken = lists.filter(({ name }) => !created.has(name)).map(({ name }) => `"${name}"`)
    throw new Problem(
      'name-taken',
      `There is a price list called ${taken.slice(0, 10).join(', ')} already. Nothing was written.`,
    )
  }
  // A database that has lost a list (a failover, a restored backup) gives its id to the next one: processes must not keep
  // the lost list under it.
  await changeSettingsVersion(trx, account)
  return rows
}
