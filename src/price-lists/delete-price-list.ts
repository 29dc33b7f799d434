import { onFreeList, rejectBusy } from '../jobs/list-order.ts'
import { discardPlansOf } from '../plans/queries.ts'
import { deleteRows } from './publication.ts'
import { lockListForDeletion } from './queries.ts'

/** Deletes a price list with its rows, prices and history, once no job works on it. */
export const deletePriceList = onFreeList<'deletePriceList'>(async (trx, { account, params }) => {
  const list = await lockListForDeletion(trx, account, { id: params.id })
  await rejectBusy(trx, account, list.id)
  await deleteRows(trx, list)
  await discardPlansOf(trx, account, list.id)
  await trx
    .deleteFrom('price_lists')
    .where('account_id', '=', account)
    .where('id', '=', list.id)
    .execute()
  return undefined
})
