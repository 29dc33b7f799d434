import { fuzz, type Target } from '../sessions.ts'
import { answerBugs } from './answers.ts'
import type { PlantedBug } from './plant.ts'
import { requestBugs } from './requests.ts'
import { statementBugs } from './statements.ts'

/** All that are known. */
export const plantedBugs: PlantedBug[] = [...requestBugs, ...answerBugs, ...statementBugs]

export interface HuntOptions {
  /** Inputs after which a bug counts as not found. */
  runs: number
  seed: number
  only?: string | undefined
}

/** Plants one bug after the other and looks for it; says what was found. True: all were. */
export async function huntPlanted(
  target: Target,
  { runs, seed, only }: HuntOptions,
): Promise<boolean> {
  const bugs = plantedBugs.filter(({ operation }) => only === undefined || operation === only)
  let found = 0
  for (const bug of bugs) {
    const { inputs, message } = await hunt(target, bug, { runs, seed })
    if (message !== undefined) found++
    const place = message?.split('\n')[0]?.slice(0, 110) ?? 'NOT FOUND'
    console.log(
      `${String(inputs).padStart(6)} inputs  ${bug.operation}: ${bug.name}\n               ${place}`,
    )
  }
  console.log(`found ${found}/${bugs.length}, seed ${seed}`)
  return found === bugs.length
}

/** A statement that Postgres refuses is a planted bug that is none: what it should do wrong was not seen. */
const refused = /answered 5\d\d/

/** How many inputs it took to find a bug, and what told it; no message: it was not found. */
export async function hunt(
  target: Target,
  bug: PlantedBug,
  { runs, seed }: HuntOptions,
): Promise<{ inputs: number; message: string | undefined }> {
  const { operation } = bug
  const planted = bug.plant(target)
  try {
    const { tally, failures } = await fuzz(planted.target, {
      runs,
      seed,
      only: operation,
      failuresMax: 1,
    })
    const message = failures[0]?.error.message
    const isRefused = statementBugs.includes(bug) && refused.test(message ?? '')
    return { inputs: tally.total, message: isRefused ? undefined : message }
  } finally {
    planted.remove()
  }
}
