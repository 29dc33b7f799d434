import type { SecondDay } from './second-day/second-day.ts'

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
  secondDay: SecondDay
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

interface Job {
  resource_type: string
}

interface Plan {
  violations: unknown[]
}

const has = (answer: unknown, field: string) =>
  typeof answer === 'object' && answer !== null && field in answer

/** Narrows an answer to what was done: the types do not say what makes it a job or a plan. */
export function atOnce<T>(answer: T): Exclude<T, Job | Plan> {
  if (has(answer, 'resource_type') || has(answer, 'violations')) throw new Error('no result')
  return answer as Exclude<T, Job | Plan>
}

/** Narrows an answer to a plan. */
export function planned<T>(answer: T): Extract<T, Plan> {
  if (!has(answer, 'violations')) throw new Error('no plan')
  return answer as Extract<T, Plan>
}

/** What was answered; throws for a problem. */
export function data<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

/** What was answered with a status; throws for a problem. */
export function succeeded<T extends { status: number; data: unknown }>(answer: T) {
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.data))
  return answer.data as Extract<T, { status: 200 | 201 }>['data']
}
