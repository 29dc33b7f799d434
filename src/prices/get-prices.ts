import { findColumns } from '../catalog/columns.ts'
import type { Handler } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { findPriceList, rejectUnpublished } from '../price-lists/queries.ts'
import { promotedPrices } from '../promotions/promoted-prices.ts'
import { countMatchingRows, findMatchingRows } from './matching-rows.ts'
import { findNamedList } from './payload.ts'
import { priceRows } from './price-rows.ts'
import { findRowPromotions } from './row-promotions.ts'
import { readWantedRows, type WantedRow } from './wanted-rows.ts'

/** Reads prices, wildcards expanded, in payload order, then by code and extensions. */
export const getPrices: Handler<'getPrices'> = ({ account, body, errors, inAccount }, { limits }) =>
  inAccount(async (trx) => {
    // Sent together: one round trip.
    const [list, columns, promotions] = await Promise.all([
      findNamedList(body, (by) => findPriceList(trx, account, by)),
      findColumns(trx, account),
      findRowPromotions(trx, account, body, errors),
    ])
    rejectUnpublished(list)
    const wanted = readWantedRows(body.payload, list, columns, errors)
    errors.reject()
    const promoted = promotedPrices(promotions, columns)
    const include = new Set(body.include)
    const extras = {
      costs: include.has('margin'),
      dynamicAttributes: include.has('dynamic_attributes'),
      attributes: promoted.usesAttributes,
    }
    const rowsMax = limits.readRowsMax
    const matching = await findMatchingRows(trx, list, columns, wanted, extras, rowsMax + 1)
    if (matching.length > rowsMax) {
      throw tooLarge(rowsMax, await countMatchingRows(trx, list, columns, wanted))
    }
    const { priceOf } = promoted
    return priceRows(matching, (at) => wanted[at] as WantedRow, { list, columns, include, priceOf })
  })

function tooLarge(rowsMax: number, size: number): Problem {
  const detail = `A read expands to at most ${rowsMax} rows, this one to ${size}. Name more of code, extensions and attributes.`
  return new Problem('result-too-large', detail)
}
