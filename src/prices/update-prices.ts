import { findColumns } from '../catalog/columns.ts'
import { readRowKeys } from '../catalog/row-key.ts'
import type { Handler } from '../contract/operation.ts'
import { rejectBusy, whenListIsFree } from '../jobs/list-order.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { lockPriceList, rejectUnmanaged, rejectUnpublished } from '../price-lists/queries.ts'
import { rejectFaultyAddress } from './payload.ts'
import { groupByRow, inPayloadOrder, rowsOf } from './write/cells.ts'
import { setDays } from './write/set-days.ts'
import { findPublishedRows, rejectMissing, setPrices } from './write/set-prices.ts'

export const fixedKeys = new Set(['code', 'extensions', 'price', 'price_dimension', 'date'])

/** Sets prices in the published version. Answers the ids of the rows in payload order, each once. */
export const updatePrices: Handler<'updatePrices'> = ({ account, body, errors, inAccount }) =>
  whenListIsFree(() =>
    inAccount(async (trx) => {
      const list = await lockPriceList(trx, account, { name: body.price_list_name })
      rejectUnmanaged(list)
      await rejectBusy(trx, account, list.id)
      rejectUnpublished(list)
      const { extensions } = await findColumns(trx, account)
      await mapCooperatively(errors.sound(body.payload), ({ row, position }) =>
        rejectFaultyAddress(list, row, position, errors),
      )
      const keyed = await readRowKeys(body.payload, extensions, fixedKeys, errors)
      const byRow = await groupByRow(list, keyed, errors)
      // Rows without faults are written at once: if one is not in the list, the transaction rolls back.
      const isWritten = errors.count === 0 && !list.is_calendar
      const rowIds = await (isWritten
        ? setPrices(trx, list, byRow)
        : findPublishedRows(trx, list, rowsOf(byRow)))
      rejectMissing(keyed, rowsOf(byRow), rowIds, errors)
      errors.reject()
      const ids = rowIds as number[]
      if (list.is_calendar) await setDays(trx, list, byRow, ids)
      return inPayloadOrder(byRow, ids)
    }),
  )
