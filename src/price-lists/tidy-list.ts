import { inAccount } from '../database/tenant-transaction.ts'
import type { ListTurn } from '../jobs/work.ts'
import { deleteRemovedRows } from './publication.ts'

/** Deletes the rows of a list that no reader sees since its last publication, in chunks. */
export async function tidyList({ db, account, priceListId, signal }: ListTurn): Promise<void> {
  let isTidy = false
  while (!isTidy && !signal.aborted) {
    isTidy = await inAccount(db, account, async (trx) => {
      const list = await trx
        .selectFrom('price_lists')
        .selectAll()
        .where('account_id', '=', account)
        .where('id', '=', priceListId)
        .executeTakeFirst()
      return !list || (await deleteRemovedRows(trx, list, list.version)) === undefined
    })
  }
}
