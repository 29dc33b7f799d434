import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { parseMarginFormula } from '../price-lists/margin-formula.ts'
import { findPriceList, type PriceList, rejectUnpublished } from '../price-lists/queries.ts'
import {
  type PromotedPrice,
  type PromotedRow,
  promotedPrices,
} from '../promotions/promoted-prices.ts'
import { countMatchingRows, findMatchingRows, type MatchingRow } from './matching-rows.ts'
import { findNamedList } from './payload.ts'
import { findRowPromotions } from './row-promotions.ts'
import { readWantedRows } from './wanted-rows.ts'

/** Reads prices, wildcards expanded, in payload order, then by code and extensions. */
export const getPrices: Handler<'getPrices'> = ({ account, body, errors, inAccount }, { limits }) =>
  inAccount(async (trx) => {
    const list = await findNamedList(body, (by) => findPriceList(trx, account, by))
    rejectUnpublished(list)
    const columns = await findColumns(trx, account)
    const wanted = readWantedRows(body.payload, list, columns, errors)
    const promotions = await findRowPromotions(trx, list, wanted, body.promotion_date, errors)
    errors.reject()
    const promoted = promotedPrices(promotions, columns)
    const include = new Set(body.include)
    const extras = {
      costs: include.has('margin'),
      dynamicAttributes: include.has('dynamic_attributes'),
      attributes: promoted.usesAttributes,
    }
    const matching = await findMatchingRows(
      trx,
      list,
      columns,
      wanted,
      extras,
      limits.readRowsMax + 1,
    )
    if (matching.length > limits.readRowsMax) {
      const size = await countMatchingRows(trx, list, columns, wanted)
      throw tooLarge(limits.readRowsMax, size)
    }
    const show = priceRow(list, columns, include, promoted.priceOf)
    return matching.map((match) =>
      show(body.payload[match.position] as Schemas['GetPricesRow'], match),
    )
  })

function tooLarge(rowsMax: number, size: number): Problem {
  const detail = `A read expands to at most ${rowsMax} rows, this one to ${size}. Name more of code, extensions and attributes.`
  return new Problem('result-too-large', detail)
}

function priceRow(
  list: PriceList,
  columns: Columns,
  include: Set<string>,
  promotedPrice: (row: PromotedRow, only?: string) => PromotedPrice,
) {
  const [onlyDimension = ''] = list.price_dimensions
  const marginOf = include.has('margin')
    ? parseMarginFormula(list.margin_formula, columns.costs)
    : undefined
  return (input: Schemas['GetPricesRow'], match: MatchingRow): Schemas['PriceRow'] => ({
    ...input,
    code: match.code,
    ...Object.fromEntries(columnEntries(columns.extensions, match.extensions)),
    price_list_name: list.name,
    price_list_id: list.id,
    extended_catalog_id: match.product_id,
    pk: match.id,
    ...promotedPrice(
      { ...match, dimension: input.price_dimension ?? onlyDimension },
      input.promotion,
    ),
    ...(include.has('base_price') && { base_price: match.price }),
    ...(marginOf && { margin: marginOf(match.price, match.costs ?? []) }),
    ...(include.has('dynamic_attributes') && {
      dynamic_attributes: match.dynamic_attributes ?? {},
    }),
  })
}
