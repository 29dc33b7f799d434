import type { Next } from './goodput.ts'

const path = '/api/v1/sales_history/bulk_create_or_update/'
/** Stands where the number of the request does. */
const blank = '########'

let requestsMade = 0

/**
 * Writes of sales that nobody has sent before: a row that is there already and stays as it is is not written. Only their
 * ids are renewed: to make a request of 1,000 rows anew takes the load generator ten times as long.
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
