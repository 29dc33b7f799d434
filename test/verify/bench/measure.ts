import type { Bench } from './servers.ts'

/** A row of the table. */
export interface Row {
  name: string
  unit: Unit
  goal?: Goal
}

/** Of rates more is better, of times and memory less. */
export type Unit = 'rows/s' | 'reads/s' | 'ms' | 'MiB'

export interface Goal {
  ratio: number
  /** What our figure is compared with: another side, or our figure in the row of this name. */
  of: 'naive' | 'floor' | (string & {})
}

/** Returns the figures of one round, in the order of the rows. */
export type Side = (bench: Bench, round: number) => Promise<number[]>

/** Work that gives the figures of one or more rows, for each side that does it. */
export interface Workload {
  rows: Row[]
  /** Multiplies the number of rounds. */
  shortRounds?: number
  /** Makes its data. */
  prepare?(bench: Bench): Promise<unknown>
  ours: Side
  naive?: Side
  floor?: Side
}

export interface Result extends Row {
  /** Medians of all rounds. */
  ours: number
  naive: number | undefined
  floor: number | undefined
  /** Medians of the rounds' ratios: the speed of a machine varies, but the sides of a round share it. */
  oursToNaive: number | undefined
  oursToFloor: number | undefined
  oursToGoal: number | undefined
  isReached: boolean | undefined
}

export interface Rounds {
  warming: number
  counted: number
}

const sideNames = ['ours', 'naive', 'floor'] as const
type SideName = (typeof sideNames)[number]

/** Runs the sides of a workload alternately; in the next round the next side is first. */
export async function run(workload: Workload, bench: Bench, rounds: Rounds): Promise<Result[]> {
  await workload.prepare?.(bench)
  await settle(bench)
  const figures: Record<SideName, number[][]> = { ours: [], naive: [], floor: [] }
  const { shortRounds = 1 } = workload
  const warming = rounds.warming * shortRounds
  for (let round = 0; round < warming + rounds.counted * shortRounds; round++) {
    for (let place = 0; place < sideNames.length; place++) {
      const side = sideNames[(place + round) % sideNames.length] as SideName
      const measured = await workload[side]?.(bench, round)
      if (measured && round >= warming) figures[side].push(measured)
    }
  }
  return workload.rows.map((row, index) => resultOf(row, index, workload.rows, figures))
}

/** Neither VACUUM nor the whole pages that are logged after a checkpoint shall hit one side alone. */
async function settle({ ours, naive, floor }: Bench): Promise<void> {
  for (const sql of [ours.sql, naive.sql, floor]) await sql.query('vacuum analyze')
  await floor.query('checkpoint')
}

function resultOf(
  row: Row,
  index: number,
  rows: Row[],
  figures: Record<SideName, number[][]>,
): Result {
  const column = (side: SideName, at = index) => figures[side].map((round) => round[at] as number)
  const ratio = (of: number[]) =>
    of.length > 0
      ? median(column('ours').map((ours, round) => ours / (of[round] as number)))
      : undefined
  const { goal } = row
  const base = rows.findIndex(({ name }) => name === goal?.of)
  const oursToNaive = ratio(column('naive'))
  const oursToFloor = ratio(column('floor'))
  const oursToGoal = !goal
    ? undefined
    : goal.of === 'naive'
      ? oursToNaive
      : goal.of === 'floor'
        ? oursToFloor
        : ratio(column('ours', base))
  return {
    ...row,
    ours: median(column('ours')),
    naive: figures.naive.length > 0 ? median(column('naive')) : undefined,
    floor: figures.floor.length > 0 ? median(column('floor')) : undefined,
    oursToNaive,
    oursToFloor,
    oursToGoal,
    isReached: goal && oursToGoal !== undefined ? reaches(row.unit, oursToGoal, goal) : undefined,
  }
}

function reaches(unit: Unit, ratio: number, goal: Goal): boolean {
  return unit.endsWith('/s') ? ratio >= goal.ratio : ratio <= goal.ratio
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
