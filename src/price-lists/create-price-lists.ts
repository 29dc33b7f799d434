import { sql } from 'kysely'
import { changeSettingsVersion } from '../accounts/queries.ts'
import { defaultMarginFormula, keepColumns } from '../catalog/columns.ts'
import { uniqueRows } from '../contract/duplicates.ts'
import { type Schemas, transaction } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { rejectFaultySettings } from './list-settings.ts'

type Input = Schemas['PriceListInput']

/** Creates empty, unpublished price lists. Returns their ids and names in payload order. Throws `name-taken`. */
export const createPriceLists = transaction<'createPriceLists'>(
  async (trx, { account, body, errors }) => {
    const columns = await keepColumns(trx, account)
    await mapCooperatively(errors.sound(body), ({ row, position }) =>
      rejectFaultySettings(row, position, columns, errors),
    )
    const lists = await uniqueRows(errors.sound(body), errors, ({ name }) => name)
    errors.reject()
    const inPayloadOrder = lists.sort((a, b) => a.position - b.position).map(({ row }) => row)
    return insertPriceLists(trx, account, inPayloadOrder, defaultMarginFormula(columns.costs))
  },
)

async function insertPriceLists(
  trx: Trx,
  account: number,
  lists: Input[],
  marginFormula: string,
): Promise<Schemas['PriceListCreated'][]> {
  const { rows } = await sql<Schemas['PriceListCreated']>`
    insert into price_lists (account_id, name, description, valid_from, valid_to, price_dimensions, margin_formula,
      product_filters, is_calendar, currency, decimals, hide_unpriced, guardrails, origin)
    select ${account}, name, description, valid_from, valid_to, price_dimensions,
      coalesce(margin_formula, ${marginFormula}), product_filters, is_calendar, currency, decimals, hide_unpriced,
      guardrails, 'api'
    from rows from (json_to_recordset(${JSON.stringify(lists)}::json) as (
      name text, description text, valid_from date, valid_to date, price_dimensions text[], margin_formula text,
      product_filters jsonb, is_calendar boolean, currency text, decimals smallint, hide_unpriced boolean,
      guardrails jsonb
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
  // A database that has lost a list (failover, restored backup) reuses its id: processes must not keep the lost list
  // cached under it.
  await changeSettingsVersion(trx, account)
  return rows
}
