import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { parseMarginFormula } from '../price-lists/margin-formula.ts'
import { findPriceList, type PriceList, rejectUnpublished } from '../price-lists/queries.ts'
import { countMatchingRows, findMatchingRows, type MatchingRow } from './matching-rows.ts'
import { readWantedRows } from './wanted-rows.ts'

type Input = Schemas['GetPricesInput']

/** Reads prices, wildcards expanded, in payload order, then by code and extensions. */
export const getPrices: Handler<'getPrices'> = ({ account, body, errors, inAccount }, { limits }) =>
  inAccount(async (trx) => {
    const list = await findNamedList(trx, account, body)
    rejectUnpublished(list)
    const columns = await findColumns(trx, account)
    const wanted = readWantedRows(body.payload, list, columns, errors)
    errors.reject()
    const include = new Set(body.include)
    const extras = {
      costs: include.has('margin'),
      dynamicAttributes: include.has('dynamic_attributes'),
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
    const show = priceRow(list, columns, include)
    return matching.map((match) =>
      show(body.payload[match.position] as Schemas['GetPricesRow'], match),
    )
  })

function tooLarge(rowsMax: number, size: number): Problem {
  const detail = `A read expands to at most ${rowsMax} rows, this one to ${size}. Name more of code, extensions and attributes.`
  return new Problem('result-too-large', detail)
}

async function findNamedList(trx: Trx, account: number, body: Input): Promise<PriceList> {
  const { price_list_name: name, price_list_id: id } = body
  if (id === undefined && name === undefined) {
    const message = 'price_list_name or price_list_id is required'
    throw invalidRequest([
      { pointer: '/price_list_name', field: 'price_list_name', code: 'required', message },
    ])
  }
  const list = await findPriceList(trx, account, id === undefined ? { name: name ?? '' } : { id })
  if (name !== undefined && name !== list.name) {
    const message = 'price_list_name and price_list_id must mean the same list'
    throw invalidRequest([
      { pointer: '/price_list_id', field: 'price_list_id', code: 'conflicting_keys', message },
    ])
  }
  return list
}

function priceRow(list: PriceList, columns: Columns, include: Set<string>) {
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
    active_price: match.price,
    promotions: [],
    ...(include.has('base_price') && { base_price: match.price }),
    ...(marginOf && { margin: marginOf(match.price, match.costs ?? []) }),
    ...(include.has('dynamic_attributes') && {
      dynamic_attributes: match.dynamic_attributes ?? {},
    }),
  })
}
