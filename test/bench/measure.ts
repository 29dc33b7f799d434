import type { BenchService } from './service.ts'

/** One row of the table. */
export interface Measure {
  name: string
  /** Fills the database with what is there before. */
  prepare(service: BenchService): Promise<void>
  /** The figure of round `round` through the service: the duration of some work in ms, unless it says otherwise. */
  ours(service: BenchService, round: number): Promise<number>
  /** The same of the bare way, taken in turns with `ours`; without it `ours` alone is the figure. */
  bare?(service: BenchService, round: number): Promise<number>
  unit: Unit
  /** So many times the rounds of other measures, because its own are short. */
  shortRounds?: number
  /** What must be reached, and what is aimed at; without them the row is for information. */
  floor?: number
  aim?: number
}

/**
 * What the figure is. `share`: bare / ours, larger is better. `times`: ours / bare, or ours itself where there is no
 * bare side, smaller is better. `ms`: ours itself, smaller is better.
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

/** Rounds that are not counted: both sides are measured warm, as they are all day. */
const warmingRounds = 3

/**
 * Runs a measure `rounds` times, both sides in turns, when they are warm; answers the medians. The figure is that of the
 * rounds: a virtual machine can be half as fast again from one second to the next, which both sides of a round share.
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

/** Milliseconds that some work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The median of some short work that is done many times a round. */
export async function medianOf(repeats: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) times.push(await timed(work))
  return median(times)
}
