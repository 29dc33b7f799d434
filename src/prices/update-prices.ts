import { findColumns } from '../catalog/columns.ts'
import { readRowKeys } from '../catalog/row-key.ts'
import { Answer, type Handler } from '../contract/operation.ts'
import { rejectBusy, whenListIsFree } from '../jobs/list-order.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { recordRevision, revisionHeader } from '../price-lists/history/record-revision.ts'
import { lockPriceList, rejectUnmanaged, rejectUnpublished } from '../price-lists/queries.ts'
import { rejectFaultyAddress } from './payload.ts'
import { groupByRow, inPayloadOrder, rowsOf } from './write/cells.ts'
import { setDays } from './write/set-days.ts'
import { findPublishedRows, rejectMissing, setPrices } from './write/set-prices.ts'

export const fixedKeys = new Set(['code', 'extensions', 'price', 'price_dimension', 'date'])

/** Sets prices in the published version. Answers the ids of the rows in payload order, each once. */
export const updatePrices: Handler<'updatePrices'> = ({
  account,
  body,
  errors,
  origin,
  inAccount,
}) =>
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
      const set = isWritten ? await setPrices(trx, list, byRow) : undefined
      const rowIds = set?.ids ?? (await findPublishedRows(trx, list, rowsOf(byRow)))
      rejectMissing(keyed, rowsOf(byRow), rowIds, errors)
      errors.reject()
      const ids = rowIds as number[]
      const { priced, slices = 1 } = set ?? { priced: await setDays(trx, list, byRow, ids) }
      const change = {
        kind: 'update_prices',
        origin,
        priced,
        added: 0,
        removed: 0,
        slices,
      } as const
      const revision = await recordRevision(trx, list, change)
      return new Answer(inPayloadOrder(byRow, ids), revisionHeader(revision))
    }),
  )
