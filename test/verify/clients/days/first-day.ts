/** The service and the user. */
export interface Shop {
  url: string
  email: string
  password: string
}

/** The answers of the first day's work, in plain types that the generated ones must fit. */
export interface FirstDay {
  letters: string[]
  products: { created: number[]; updated: number[] }
  catalog: { code: string; active: boolean }[]
  lists: { id: number; name: string }[]
  added: number[]
  updated: number[]
  attributes: number[]
  prices: Price[]
  fault: { type: string; faults: string[] }
  sales: number[]
  replayedSales: number[]
  dimensions: string[]
  competitors: { created: string[]; updated: string[] }
  agreement: { name: string; prices: Record<string, unknown> }
  promotions: { created: number[]; updated: number[] }
  promoted: Price[]
  sync: { added: number[]; removed: number[]; untouched: number[] }
  job: { status: string; total: number; added: number }
}

export interface Price {
  code: string
  active_price: number
  base_price?: number | undefined
  margin?: number | null | undefined
  promotions: { name: string; value: number }[]
}

/** Together with the first two, more than the background threshold. */
export const manyProducts = Array.from({ length: 120 }, (_, index) => ({
  code: `B${String(index).padStart(3, '0')}`,
  country: 'France',
}))

/** Polls until there is an answer. */
export async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The value of an optional field; throws if it is missing. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the answer lacks what the contract says is there')
  return value
}

/** Narrows an answer to one that is not a job: JSON is loaded at once, which the types do not say. */
export function atOnce<T>(answer: T): Exclude<T, { resource_type: string }> {
  if (typeof answer === 'object' && answer !== null && 'resource_type' in answer)
    throw new Error('a job, and no result')
  return answer as Exclude<T, { resource_type: string }>
}
