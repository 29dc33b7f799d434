import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../../catalog/columns.ts'
import type { Answer, Origin, Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { matchingProducts } from '../../price-lists/catalog-difference.ts'
import { keyOfFormerRow, type Revisions } from '../../price-lists/history/changed-cells.ts'
import { joinProducts } from '../../price-lists/list-rows.ts'
import { ofList, type PriceList } from '../../price-lists/queries.ts'
import type { UndoCounts } from '../revert/find-undone.ts'
import { keyOfRow, makePlan } from './plan-rows.ts'

const noCell = sql`null::integer as dimension, null::date as date`
const noChange = sql`null::numeric[] as costs, null::numeric as old, null::numeric as new, null as reason, null::jsonb as inputs`

/** Makes a plan that adds products. `productIds` is the text of an array, in payload order. */
export async function planAddedProducts(
  trx: Trx,
  list: PriceList,
  productIds: string,
  origin: Origin,
): Promise<Answer<Schemas['Plan']>> {
  const { account_id: account } = list
  return makePlan(
    trx,
    { operation: 'add_products', list, origin },
    sql`
      select input.position, r.id as row_id, p.id as product_id, p.code, p.extensions, p.extension_key, ${noCell},
        case when r.id is null then 'add' else 'none' end as action, ${noChange}
      from unnest(${productIds}::bigint[]) with ordinality as input (id, position)
      join products p on p.account_id = ${account} and p.id = input.id
      left join price_list_rows r on r.account_id = ${account} and r.price_list_id = ${list.id} and r.code = p.code
        and r.extension_key = p.extension_key and r.removed_version is null`,
  )
}

/** Makes a plan that removes products. `input` is a FROM item `input`: position, code, extension_key. */
export async function planRemovedProducts(
  trx: Trx,
  list: PriceList,
  input: RawBuilder<unknown>,
  origin: Origin,
): Promise<Answer<Schemas['Plan']>> {
  return makePlan(
    trx,
    { operation: 'remove_products', list, origin },
    sql`
      select named.position, r.id as row_id, r.product_id, code, array(
          select json_array_elements_text(extension_key::json)
        ) as extensions, extension_key, ${noCell},
        case when r.id is null then 'none' else 'remove' end as action, ${noChange}
      from (
        select code, extension_key, min(position) as position from ${input} group by code, extension_key
      ) as named
      left join (
        select id, product_id, code, extension_key from price_list_rows where ${ofList(list)} and removed_version is null
      ) as r using (code, extension_key)`,
  )
}

/** Makes a plan of a catalog sync. Rows that stay are only counted. */
export async function planSync(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  origin: Origin,
): Promise<Answer<Schemas['Plan']>> {
  return makePlan(
    trx,
    { operation: 'sync', list, origin, rowsOfList: list.row_count },
    sql`
      select null::integer as position, r.id as row_id, coalesce(p.id, r.product_id) as product_id,
        coalesce(p.code, r.code) as code, coalesce(p.extensions, r.extensions) as extensions,
        coalesce(p.extension_key, r.extension_key) as extension_key, ${noCell},
        case when r.id is null then 'add' else 'remove' end as action, ${noChange}
      from ${matchingProducts(list, columns)}
      full join (
        select id, product_id, code, extensions, extension_key from price_list_rows
        where ${ofList(list)} and removed_version is null
      ) as r on r.product_id = p.id
      where p.id is null or r.id is null`,
  )
}

/** The revisions that a revert undoes, whether as mistakes, and what it found; absent in plans of earlier versions. */
export interface RevertCall extends Revisions, Partial<UndoCounts> {
  isVoid: boolean
}

/** Makes a plan of the changes that `findUndone` found without a conflict. */
export async function planRevert(
  trx: Trx,
  list: PriceList,
  call: RevertCall,
  origin: Origin,
): Promise<Answer<Schemas['Plan']>> {
  const { account_id: account } = list
  // Guardrails do not stop an undo.
  const unguarded = { ...list, guardrails: {} }
  return makePlan(
    trx,
    { operation: 'revert', list: unguarded, origin, call },
    sql`
      select null::integer as position, ${keyOfRow}, u.dimension, u.date, null as action, p.costs, u.held as old, u.price as new,
        null as reason, null::jsonb as inputs
      from pg_temp.undone_cells u
      join price_list_rows r on r.account_id = ${account} and r.price_list_id = ${list.id} and r.id = u.row_id
      ${joinProducts(list)}
      where u.conflict is null
      union all
      select null, cell.row_id, r.product_id, r.code, r.extensions, r.extension_key, null, null,
        case cell.move when 'leave' then 'remove' else 'add' end, null, null, null, null, null
      from pg_temp.undone_rows cell cross join ${keyOfFormerRow(list, sql`cell.row_id`)} where cell.conflict is null`,
  )
}
