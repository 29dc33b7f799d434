import { findColumns } from '../catalog/columns.ts'
import { readRowKeys } from '../catalog/row-key.ts'
import { mapInTurns } from '../contract/in-turns.ts'
import type { Handler } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { rejectBusy, takingTurns } from '../jobs/turn.ts'
import { lockPriceList, rejectUnmanaged, rejectUnpublished } from '../price-lists/queries.ts'
import { type CellsByRow, cellsOf, groupByRow, inPayloadOrder, rowsOf } from './cells.ts'
import { rejectFaultyAddress } from './payload.ts'
import { setDays } from './write-days.ts'
import { findPublishedRows, type RowIds, setPrices } from './write-prices.ts'

export const fixedKeys = new Set(['code', 'extensions', 'price', 'price_dimension', 'date'])

/** Sets prices in the published version. Answers the ids of the rows in payload order, each once. */
export const updatePrices: Handler<'updatePrices'> = ({ account, body, errors, inAccount }) =>
  takingTurns(() =>
    inAccount(async (trx) => {
      const list = await lockPriceList(trx, account, { name: body.price_list_name })
      rejectUnmanaged(list)
      await rejectBusy(trx, account, list.id)
      rejectUnpublished(list)
      const { extensions } = await findColumns(trx, account)
      await mapInTurns(errors.sound(body.payload), ({ row, position }) =>
        rejectFaultyAddress(list, row, position, errors),
      )
      const keyed = await readRowKeys(body.payload, extensions, fixedKeys, errors)
      const byRow = await groupByRow(list, keyed, errors)
      // At once, when nothing is wrong so far: were a row missing, the transaction would be undone.
      const isWritten = errors.isEmpty() && !list.is_calendar
      const rowIds = await (isWritten
        ? setPrices(trx, list, byRow)
        : findPublishedRows(trx, list, rowsOf(byRow)))
      rejectMissing(byRow, rowIds, errors)
      errors.reject()
      const ids = rowIds as number[]
      if (list.is_calendar) await setDays(trx, list, byRow, ids)
      return inPayloadOrder(byRow, ids)
    }),
  )

function rejectMissing(byRow: CellsByRow, ids: RowIds, errors: RowErrors): void {
  for (const [row, id] of ids.entries()) {
    if (id !== null) continue
    for (const { position } of cellsOf(byRow, row))
      errors.add(position, 'code', 'row_not_in_list', 'this row is not in the published list')
  }
}
