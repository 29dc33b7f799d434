import type { Columns } from '../catalog/columns.ts'
import { findCompetitors, standing } from '../competitor-prices/competition.ts'
import type { Schemas } from '../contract/operation.ts'
import { readInParts } from '../contract/read-cost.ts'
import type { Trx } from '../database/pool.ts'
import { compilePromotions, promotedPrices } from '../promotions/promoted-prices.ts'
import { findValidPromotions } from '../promotions/queries.ts'
import { findSalesFigures } from '../sales-history/sales-figures.ts'
import { today } from './calendar.ts'
import { parseMarginFormula } from './margin-formula.ts'
import type { PriceList } from './queries.ts'

export interface PositionFields {
  /** The price in force today, and its margin. */
  active: boolean
  competition: boolean
  sales: boolean
}

/** Reads the parameter `include`. */
export function positionFields(include = ''): PositionFields {
  const names = include.split(',')
  return {
    active: names.includes('active_margin'),
    competition: names.includes('competition'),
    sales: names.includes('sales'),
  }
}

/** The position of a price: the requested fields. */
export interface Position {
  active_price?: number
  active_margin?: number | null
  competition?: Schemas['Competition'] | null
  sales?: Schemas['SalesFigures']
}

/** A price of a row, with its dimension (by index) and, in a calendar list, its day; null if none was set. */
export interface Cell {
  index: number
  date: string | undefined
  price: number | null
}

interface PositionedRow {
  code: string
  extensions: string[]
  attributes?: (string | null)[] | null
  costs: (number | null)[]
}

const defaultDays = 30
const adviceOfFile = 'Leave competition or sales out.'

/** Returns a function that reads the positions of cells, at the prices in force today. */
export async function positionReader(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  fields: PositionFields,
) {
  const account = list.account_id
  const scope = { account, list, days: defaultDays, until: today() }
  const options = { max_age_days: defaultDays }
  const isPriced = fields.active || fields.competition
  const activePrice = isPriced ? await pricer(trx, list, columns) : () => null
  const marginOf = parseMarginFormula(list.margin_formula, columns.costs)
  const activeFields = (price: number, { costs }: PositionedRow) => ({
    active_price: price,
    active_margin: marginOf(price, costs),
  })
  return (cells: (Cell & { row: PositionedRow })[]): Promise<Position[]> =>
    readInParts(adviceOfFile, cells, async (some) => {
      const rows = some.map(({ row, date, index }) => {
        const dimension = list.price_dimensions[index] ?? ''
        return { ...row, date, dimension }
      })
      const competitors =
        fields.competition && (await findCompetitors(trx, account, columns, { rows, ...options }))
      const sales = fields.sales && (await findSalesFigures(trx, scope, rows))
      return some.map((cell, at) => {
        const price = activePrice(cell)
        return {
          ...(fields.active && activeFields(price ?? 0, cell.row)),
          ...(competitors && { competition: standing(competitors[at] ?? null, price) }),
          ...(sales && { sales: sales[at] as Schemas['SalesFigures'] }),
        }
      })
    })
}

/** Returns a function for the price in force: the lowest of a cell's published price and today's promotions. */
async function pricer(trx: Trx, list: PriceList, columns: Columns) {
  const scope = { priceListName: list.name, priceListId: null, date: today() }
  const promotions = await findValidPromotions(trx, list.account_id, scope)
  const promotedPrice = promotedPrices(await compilePromotions(promotions, columns, list.decimals))
  return ({ row, index, price }: Cell & { row: PositionedRow }): number | null => {
    if (price === null) return null
    const dimension = list.price_dimensions[index] ?? ''
    return promotedPrice({ ...row, dimension, price }).active_price
  }
}

/** Adds to each row the positions of its cells, in cell order. */
export async function withPositions<Row extends PositionedRow>(
  rows: Row[],
  cellsOf: (row: Row) => Cell[],
  read: Awaited<ReturnType<typeof positionReader>>,
): Promise<(Row & { positions: Position[] })[]> {
  const cells = rows.map((row) => cellsOf(row).map((cell) => ({ ...cell, row })))
  const positions = (await read(cells.flat())).values()
  return rows.map((row, index) => ({
    ...row,
    positions: [...positions.take(cells[index]?.length ?? 0)],
  }))
}

const competitionNames = [
  ...['count', 'lowest', 'lowest_name', 'highest', 'average', 'median'],
  ...['rank', 'gap_percent'],
]
const salesNames = ['transactions', 'quantity', 'revenue', 'average_price', 'last_at']

/** The CSV columns of these fields: `competition.lowest` is the key `lowest` of `competition`. */
export const positionColumns = ({ active, competition, sales }: PositionFields): string[] => [
  ...(active ? ['active_price', 'active_margin'] : []),
  ...(competition ? competitionNames.map((name) => `competition.${name}`) : []),
  ...(sales ? salesNames.map((name) => `sales.${name}`) : []),
]
