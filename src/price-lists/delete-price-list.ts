import type { Handler } from '../contract/operation.ts'
import { enqueueTurn } from '../jobs/enqueue.ts'
import { rejectBusy, takingTurns } from '../jobs/turn.ts'
import { chunkRows, deleteRowsOfDeleted } from './publication.ts'
import { lockPriceList } from './queries.ts'

/** Deletes a price list with its rows and prices, once no job works on it. A worker deletes what is more than one chunk. */
export const deletePriceList: Handler<'deletePriceList'> = (
  { account, params, inAccount },
  { boss },
) =>
  takingTurns(() =>
    inAccount(async (trx) => {
      const list = await lockPriceList(trx, account, { id: params.id })
      await rejectBusy(trx, account, list.id)
      await trx
        .deleteFrom('price_lists')
        .where('account_id', '=', account)
        .where('id', '=', list.id)
        .execute()
      if ((await deleteRowsOfDeleted(trx, list)) === chunkRows)
        await enqueueTurn(trx, boss, { account, priceListId: list.id })
      return undefined
    }),
  )
