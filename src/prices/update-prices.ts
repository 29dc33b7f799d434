import { findColumns } from '../catalog/columns.ts'
import { type KeyedRow, readRowKeys, rowKey } from '../catalog/row-key.ts'
import { uniqueRows } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { rejectBusy, takingTurns } from '../jobs/turn.ts'
import {
  lockPriceList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../price-lists/queries.ts'
import { type Cell, findPublishedRows, setCalendarPrices, setPrices } from './cells.ts'
import { dimensionIndex, rejectFaultyAddress } from './payload.ts'

export const fixedKeys = new Set(['code', 'extensions', 'price', 'price_dimension', 'date'])

/** Sets prices in the published version. Answers the ids of the rows in payload order, each once. */
export const updatePrices: Handler<'updatePrices'> = ({ account, body, errors, inAccount }) =>
  takingTurns(() =>
    inAccount(async (trx) => {
      const list = await lockPriceList(trx, account, { name: body.price_list_name })
      rejectUnmanaged(list)
      rejectUnpublished(list)
      const { extensions } = await findColumns(trx, account)
      for (const { row, position } of errors.sound(body.payload))
        rejectFaultyAddress(list, row, position, errors)
      const keyed = readRowKeys(body.payload, extensions, fixedKeys, errors)
      const addressed = keyed.map((row) => ({ row: cellOf(list, row), position: row.position }))
      const cells = uniqueRows(addressed, errors, cellKey)
      const rowIds = await findPublishedRows(
        trx,
        list,
        cells.map(({ row }) => row),
      )
      const isMissing = rowIds.some((id) => id === null)
      // A row may be on its way: a job that was accepted earlier has its turn first.
      if (isMissing) await rejectBusy(trx, account, list.id)
      for (const [index, { position }] of cells.entries()) {
        if (rowIds[index] === null)
          errors.add(position, 'code', 'row_not_in_list', 'this row is not in the published list')
      }
      errors.reject()
      const found = cells.map(({ row, position }, index) => ({
        ...row,
        position,
        rowId: rowIds[index] as number,
      }))
      await (list.is_calendar ? setCalendarPrices : setPrices)(trx, list, found)
      return [...new Set(found.sort((a, b) => a.position - b.position).map(({ rowId }) => rowId))]
    }),
  )

/** The cell that a payload row sets. */
export function cellOf(
  list: PriceList,
  { row, code, extensions }: KeyedRow<Schemas['UpdatePricesRow']>,
): Cell {
  return {
    code,
    extensions,
    // -0 is 0: written alike, and no other price for the same cell.
    price: row.price + 0,
    dimension: dimensionIndex(list, row),
    date: row.date,
  }
}

function cellKey(cell: Cell): string {
  return `${rowKey(cell)} ${cell.dimension} ${cell.date}`
}
