import { inAccount } from '../database/in-account.ts'
import { TurnFailed } from '../jobs/run-job.ts'
import type { ListTurn } from '../jobs/work.ts'
import { chunkRows, deleteRemovedRows, deleteRowsOfDeleted } from './publication.ts'

/**
 * Deletes the rows of a list that no reader sees since its last publication or its deletion, in chunks. Throws TurnFailed
 * when it is to stop: of a list that is deleted there is no later turn.
 */
export async function tidyList({ db, account, priceListId, signal }: ListTurn): Promise<void> {
  let deleted = chunkRows
  while (deleted === chunkRows) {
    if (signal.aborted) throw new TurnFailed(signal.reason)
    deleted = await inAccount(db, account, async (trx) => {
      const list = await trx
        .selectFrom('price_lists')
        .select(['account_id', 'id', 'version'])
        .where('account_id', '=', account)
        .where('id', '=', priceListId)
        .executeTakeFirst()
      return list
        ? deleteRemovedRows(trx, list, list.version)
        : deleteRowsOfDeleted(trx, { account_id: account, id: priceListId })
    })
  }
}
