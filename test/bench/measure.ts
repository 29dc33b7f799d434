import type { BenchService } from './service.ts'

/** One row of the table: our way and the bare way of the same work, timed in turns. */
export interface Measure {
  name: string
  /** Fills the database with what is there before. */
  prepare(service: BenchService): Promise<void>
  /** Work of round `round`, through the service. Answers its duration in ms. */
  ours(service: BenchService, round: number): Promise<number>
  /** The same work in bare SQL. Answers its duration in ms. */
  bare(service: BenchService, round: number): Promise<number>
  /** `share`: bare time / our time, larger is better; `times`: our time / bare time, smaller is better. */
  unit: 'share' | 'times'
  floor: number
  aim: number
}

export interface Result {
  name: string
  ours: number
  bare: number
  ratio: number
  floor: number
  aim: number
  verdict: 'aim' | 'floor' | 'below'
}

/** Runs a measure `rounds` times, both sides in turns, after one round that is not counted; answers the medians. */
export async function run(
  measure: Measure,
  service: BenchService,
  rounds: number,
): Promise<Result> {
  await measure.prepare(service)
  const ours: number[] = []
  const bare: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const [a, b] = [await measure.ours(service, round), await measure.bare(service, round)]
    if (round > 0) {
      ours.push(a)
      bare.push(b)
    }
  }
  const [a, b] = [median(ours), median(bare)]
  const ratio = measure.unit === 'share' ? b / a : a / b
  const reaches = (limit: number) => (measure.unit === 'share' ? ratio >= limit : ratio <= limit)
  const verdict = reaches(measure.aim) ? 'aim' : reaches(measure.floor) ? 'floor' : 'below'
  return {
    name: measure.name,
    ours: a,
    bare: b,
    ratio,
    floor: measure.floor,
    aim: measure.aim,
    verdict,
  }
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Milliseconds that some work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
