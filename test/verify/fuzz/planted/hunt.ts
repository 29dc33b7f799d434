import { type Failure, fuzz, session, type Target } from '../sessions.ts'
import { Tally } from '../tally.ts'
import { answerBugs } from './answers.ts'
import type { PlantedBug } from './plant.ts'
import { requestBugs } from './requests.ts'
import { statementBugs } from './statements.ts'

/** All planted bugs. */
export const plantedBugs: PlantedBug[] = [...requestBugs, ...answerBugs, ...statementBugs]

export interface HuntOptions {
  /** Inputs after which a bug counts as not found. */
  runs: number
  seed: number
  only?: string | undefined
}

/** Plants each bug and looks for it; returns whether all were found. */
export async function huntPlanted(
  target: Target,
  { runs, seed, only }: HuntOptions,
): Promise<boolean> {
  const bugs = plantedBugs.filter(({ operation }) => only === undefined || operation === only)
  let found = 0
  for (const bug of bugs) {
    const { inputs, message, accident } = await hunt(target, bug, { runs, seed })
    if (message !== undefined) found++
    const place = firstLine(message) ?? `NOT FOUND${accident ? `, but ${firstLine(accident)}` : ''}`
    console.log(
      `${String(inputs).padStart(6)} inputs  ${bug.operation}: ${bug.name}\n               ${place}`,
    )
  }
  console.log(`found ${found}/${bugs.length}, seed ${seed}`)
  return found === bugs.length
}

/** A statement that Postgres refuses does not show its bug. */
const refused = /answered 5\d\d/

const firstLine = (message: string | undefined) => message?.split('\n')[0]?.slice(0, 110)

export interface Hunt {
  inputs: number
  /** The failure that showed the bug; undefined: not found. */
  message: string | undefined
  /** Other failures: refused statements, or failures without the bug. */
  accident: string | undefined
}

/** Looks for a bug: a session that fails with it and passes without it. */
export async function hunt(
  target: Target,
  bug: PlantedBug,
  { runs, seed }: HuntOptions,
): Promise<Hunt> {
  const { operation: only } = bug
  const planted = bug.plant(target)
  const { tally, failures } = await fuzz(planted.target, {
    runs,
    seed,
    only,
    failuresMax: 1,
  }).finally(planted.remove)
  const [failure] = failures
  const message = failure?.error.message
  if (!failure || (await isAccident(target, bug, failure)))
    return { inputs: tally.total, message: undefined, accident: message }
  return { inputs: tally.total, message, accident: undefined }
}

/** Whether a failure tells nothing about the bug. */
async function isAccident(target: Target, bug: PlantedBug, { seed, error }: Failure) {
  if (statementBugs.includes(bug) && refused.test(error.message)) return true
  return (await session(target, new Tally(), seed, bug.operation)) !== undefined
}
