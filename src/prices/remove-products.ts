import type { RawBuilder } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { readRowKeys } from '../catalog/row-key.ts'
import { Answer, backgroundThreshold } from '../contract/operation.ts'
import { readNumbers } from '../database/array-literal.ts'
import { inputRows } from '../database/input-rows.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { enqueueJob } from '../jobs/enqueue.ts'
import { onFreeList, rejectBusy } from '../jobs/list-order.ts'
import { removeProductsFromDraft } from '../price-lists/draft-rows.ts'
import { revisionHeader } from '../price-lists/history/record-revision.ts'
import { archiveRemovedChunk, type IdsText } from '../price-lists/publication.ts'
import { type Publication, publish } from '../price-lists/publish.ts'
import {
  lockPriceList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../price-lists/queries.ts'
import { fixedKeys } from './add-products.ts'
import { positionedKeyColumns, readListName } from './payload.ts'
import { answerPlanOrJob } from './plans/enqueue-plan.ts'
import { planRemovedProducts } from './plans/plan-moves.ts'

/**
 * Removes products from a list and publishes it. Returns the ids of the removed rows; above 100 products, the job. A
 * product that is not in the list is no error.
 */
export const removeProducts = onFreeList<'removeProducts'>(async (trx, request, { boss }) => {
  const { account, body, query, errors, origin } = request
  const list = await lockPriceList(trx, account, readListName(body))
  rejectUnmanaged(list)
  // Its jobs may publish it.
  if (list.version === 0) await rejectBusy(trx, account, list.id)
  rejectUnpublished(list)
  const { extensions } = await findColumns(trx, account)
  const rows = await readRowKeys(body.payload, extensions, fixedKeys, errors)
  errors.reject()
  const input = await inputRows(trx, positionedKeyColumns, rows)
  if (query.plan === 'true') {
    await rejectBusy(trx, account, list.id)
    const plan = await planRemovedProducts(trx, list, input, origin)
    return answerPlanOrJob(trx, list, request, plan)
  }
  const { total, productIds } = await findNamedProducts(trx, account, input)
  if (total > backgroundThreshold) {
    const job = { account, priceListId: list.id, kind: 'remove-products' } as const
    return enqueueJob(trx, boss, { ...job, total, productIds, origin })
  }
  await rejectBusy(trx, account, list.id)
  const publication = { kind: 'remove_products', origin } as const
  const { rowIds, revision } = await removeAtOnce(trx, list, productIds, publication)
  return new Answer(readNumbers(rowIds), revisionHeader(revision))
})

/** Distinct products that a call names. */
interface NamedProducts {
  total: number
  /** In payload order; null for one that is not in the catalog. */
  productIds: IdsText
}

/** Finds the products that a FROM item `input` names: position, code, extension_key. */
export async function findNamedProducts(
  trx: Trx,
  account: number,
  input: RawBuilder<unknown>,
): Promise<NamedProducts> {
  return onlyRow<NamedProducts>(trx)`
    select count(*) as total, coalesce(array_agg(p.id order by named.position), '{}')::text as "productIds"
    from (
      select code, extension_key, min(position) as position from ${input} group by code, extension_key
    ) as named
    left join (
      select id, code, extension_key from products where account_id = ${account}
    ) as p using (code, extension_key)`
}

/** Removes products from a locked list and publishes it. Returns the ids of the removed rows, and the revision. */
export async function removeAtOnce(
  trx: Trx,
  list: PriceList,
  productIds: IdsText,
  publication: Publication,
): Promise<{ rowIds: IdsText; revision: number }> {
  const rowIds = await removeProductsFromDraft(trx, list, productIds)
  if (rowIds === '{}') return { rowIds, revision: list.version }
  const revision = await publish(trx, list, publication, '{}')
  await archiveRemovedChunk(trx, list, revision)
  return { rowIds, revision }
}
