import type { BenchService } from './service.ts'

/** A row of the table. */
export interface Measure {
  name: string
  /** Prepares the data. */
  prepare(service: BenchService): Promise<void>
  /** The figure of a round through the service: mostly a duration in ms. */
  ours(service: BenchService, round: number): Promise<number>
  /** The same in bare SQL, alternating with `ours`; without it the figure is `ours` alone. */
  bare?(service: BenchService, round: number): Promise<number>
  unit: Unit
  /** Multiplies the number of rounds, for short ones. */
  shortRounds?: number
  /** Required and desired figure; without them the row is informative. */
  floor?: number
  aim?: number
}

/**
 * `share`: bare / ours, larger is better. `times`: ours / bare, or ours alone, smaller is better. `ms`: ours,
 * smaller is better.
 */
export type Unit = 'share' | 'times' | 'ms'

export interface Result {
  name: string
  ours: number | undefined
  bare: number | undefined
  figure: number
  unit: Unit
  floor: number | undefined
  aim: number | undefined
  verdict: 'aim' | 'floor' | 'below' | ''
}

/** Rounds that are not counted, to warm up both sides. */
const warmingRounds = 3

/**
 * Runs both sides of a measure alternately and returns medians. The figure is the median of the rounds' figures:
 * the speed of a virtual machine varies by half, but both sides of a round share it.
 */
export async function run(
  measure: Measure,
  service: BenchService,
  rounds: number,
): Promise<Result> {
  await measure.prepare(service)
  const [ours, bare, figures]: [number[], number[], number[]] = [[], [], []]
  const { shortRounds = 1 } = measure
  const warming = warmingRounds * shortRounds
  for (let round = 0; round < warming + rounds * shortRounds; round++) {
    const a = await measure.ours(service, round)
    const b = await measure.bare?.(service, round)
    if (round < warming) continue
    ours.push(a)
    if (b !== undefined) bare.push(b)
    figures.push(figureOf(measure.unit, a, b))
  }
  const { name, unit, floor, aim } = measure
  const medians = measure.bare && { ours: median(ours), bare: median(bare) }
  const figure = median(figures)
  const verdict = verdictOf(measure, figure)
  return { name, ours: medians?.ours, bare: medians?.bare, figure, unit, floor, aim, verdict }
}

function figureOf(unit: Unit, ours: number, bare: number | undefined): number {
  if (bare === undefined) return ours
  return unit === 'share' ? bare / ours : ours / bare
}

function verdictOf({ unit, floor, aim }: Measure, figure: number): Result['verdict'] {
  if (floor === undefined || aim === undefined) return ''
  const reaches = (limit: number) => (unit === 'share' ? figure >= limit : figure <= limit)
  return reaches(aim) ? 'aim' : reaches(floor) ? 'floor' : 'below'
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Duration of some work in ms. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Median duration of short work that is repeated in a round. */
export async function medianOf(repeats: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) times.push(await timed(work))
  return median(times)
}
