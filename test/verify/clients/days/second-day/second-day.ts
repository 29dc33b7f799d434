/** The answers of the second day's work, in plain types that the generated ones must fit. */
export interface SecondDay {
  planned: { changed?: number | undefined }
  applied: number[]
  kinds: string[]
  difference: { code: string; old: number | null; new: number | null }[]
  reverted: { priced: number; skipped: number }
  repriced: { changed?: number | undefined }
  position: Position[]
  sales: { deleted: number; absent: number }
  removed: number[]
}

export interface Position {
  competition?:
    | { lowest: number; rank: number | null; gap_percent: number | null }
    | null
    | undefined
  sales?: { transactions: number } | undefined
}

export const name = 'Retail'
export const row = { code: '85123A', country: 'United Kingdom' }
export const newPrices = {
  price_list_name: name,
  payload: [{ ...row, price_dimension: 'retail', price: 2.6 }],
}
export const formula = {
  price_list_name: name,
  formula: '= COSTS / 0.5',
  product_filters: { code: ['85123A'], country: ['United Kingdom'] },
}
export const includePosition = {
  price_list_name: name,
  promotion_date: '2026-06-01',
  include: ['competition' as const, 'sales' as const],
  payload: [row],
}
export const inFrance = { price_list_name: name, payload: [{ ...row, country: 'France' }] }
