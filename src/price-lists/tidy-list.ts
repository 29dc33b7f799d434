import { inAccount } from '../database/in-account.ts'
import type { ListTurn } from '../jobs/work.ts'
import { chunkRows, deleteRemovedRows } from './publication.ts'

/** Deletes the rows of a list that no reader sees since its last publication, in chunks. */
export async function tidyList({ db, account, priceListId, signal }: ListTurn): Promise<void> {
  let deleted = chunkRows
  while (deleted === chunkRows && !signal.aborted) {
    deleted = await inAccount(db, account, async (trx) => {
      const list = await trx
        .selectFrom('price_lists')
        .select(['account_id', 'id', 'version'])
        .where('account_id', '=', account)
        .where('id', '=', priceListId)
        .executeTakeFirst()
      return list ? deleteRemovedRows(trx, list, list.version) : 0
    })
  }
}
