import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import type { Schemas } from '../../src/contract/operation.ts'

/** The rows of the shop's file in the service's format, and why others were left out. */
export interface Shop {
  products: Schemas['ProductInput'][]
  prices: ProductPrices[]
  sales: Schemas['SaleInput'][]
  /** The number of rows left out, by reason. */
  skipped: Map<string, number>
}

/** The highest (`retail`) and lowest (`wholesale`) price at which a product was sold in a country. */
export type ProductPrices = { code: string; country: string; retail: number; wholesale: number }

interface Line {
  InvoiceNo: string
  StockCode: string
  Description: string
  Quantity: string
  InvoiceDate: string
  UnitPrice: string
  CustomerID: string
  Country: string
}

const file = new URL('./online-retail-2010-12.csv.gz', import.meta.url)

/** Reads the sales of a gift shop. Every complete line is a sale; products and prices are derived from sales. */
export function readShop(): Shop {
  const lines: Line[] = parse(gunzipSync(readFileSync(file)), {
    columns: true,
    relax_column_count: true,
  })
  const skipped = new Map<string, number>()
  const skip = (reason: string) => void skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
  const complete = lines.filter(
    (line) => line.Country !== undefined || skip('line cut off in the file'),
  )
  const goods = complete.filter(
    ({ StockCode }) =>
      /^\d{5}/.test(StockCode) || skip('fee, postage or discount: a sale, not a product'),
  )
  return {
    products: readProducts(goods),
    prices: readPrices(
      goods.filter(
        (line) => Number(line.UnitPrice) > 0 || skip('price of 0: a sale that sets no list price'),
      ),
    ),
    sales: readSales(complete),
    skipped,
  }
}

/** One product per code and country, with the code's first description. */
function readProducts(lines: Line[]): Schemas['ProductInput'][] {
  const descriptions = new Map<string, string>()
  for (const { StockCode, Description } of lines) {
    if (Description && !descriptions.has(StockCode)) descriptions.set(StockCode, Description)
  }
  const products = new Map<string, Schemas['ProductInput']>()
  for (const { StockCode: code, Country: country } of lines) {
    const description = descriptions.get(code)
    products.set(`${code} ${country}`, { code, country, ...(description && { description }) })
  }
  return [...products.values()]
}

function readPrices(lines: Line[]): ProductPrices[] {
  const prices = new Map<string, ProductPrices>()
  for (const { StockCode: code, Country: country, UnitPrice } of lines) {
    const price = Number(UnitPrice)
    const known = prices.get(`${code} ${country}`) ?? {
      code,
      country,
      retail: price,
      wholesale: price,
    }
    const range = {
      retail: Math.max(known.retail, price),
      wholesale: Math.min(known.wholesale, price),
    }
    prices.set(`${code} ${country}`, { ...known, ...range })
  }
  return [...prices.values()]
}

/** The transaction id is the invoice and its line, because an invoice may list a product twice. */
function readSales(lines: Line[]): Schemas['SaleInput'][] {
  const lineNumbers = new Map<string, number>()
  return lines.map((line) => {
    const number = (lineNumbers.get(line.InvoiceNo) ?? 0) + 1
    lineNumbers.set(line.InvoiceNo, number)
    return {
      transaction_id: `${line.InvoiceNo}-${number}`,
      code: line.StockCode,
      extension: line.Country,
      quantity: line.Quantity,
      active_price: line.UnitPrice,
      ...(line.CustomerID && { client_code: line.CustomerID }),
      revenue: revenue(line),
      transaction_date: timestamp(line.InvoiceDate),
      currency: 'GBP',
    }
  })
}

/** Calculates in whole pence, because 3 x 1.1 is not 3.3 in floats. */
function revenue({ Quantity, UnitPrice }: Line): string {
  return ((Number(Quantity) * Math.round(Number(UnitPrice) * 100)) / 100).toFixed(2)
}

/** `12/1/10 8:26` is 1 December 2010. */
function timestamp(text: string): string {
  const [, month = '', day = '', year = '', hour = '', minute = ''] =
    /^(\d+)\/(\d+)\/(\d+) (\d+):(\d+)$/.exec(text) ?? []
  return `20${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}T${hour.padStart(2, '0')}:${minute}:00Z`
}
