import type { Next } from './goodput.ts'

const path = '/api/v1/sales_history/bulk_create_or_update/'
/** Replaced by the number of the request. */
const blank = '########'

let requestsMade = 0

/**
 * Writes of new sales, since unchanged rows are not written. Only the ids are replaced: a new request of 1,000
 * rows costs the load generator ten times as much.
 */
export function newSales(
  request: (path: string, body: unknown) => Buffer,
  rows: number,
  padding: number,
): Next {
  const prepared = request(path, sales(rows, padding))
  const places: number[] = []
  for (let at = prepared.indexOf(blank); at >= 0; at = prepared.indexOf(blank, at + 1))
    places.push(at)
  return () => {
    const renewed = Buffer.from(prepared)
    const number = Buffer.from(String(requestsMade++).padStart(blank.length, '0'))
    for (const at of places) number.copy(renewed, at)
    return renewed
  }
}

function sales(rows: number, padding: number): object[] {
  const text = 'x'.repeat(padding)
  return Array.from({ length: rows }, (_, i) => ({
    transaction_id: `T${blank}-${i}`,
    code: `P${i}`,
    quantity: '1',
    revenue: '2.5',
    extension: text.slice(0, 200),
    client_code: `c${text.slice(200)}`,
  }))
}
