type Work = () => unknown

/** What a command or a run has made, to be taken away again. */
export interface Teardowns {
  /** Done when it ends, last one first; at once if it has ended. */
  teardown(work: Work): void
  /** Does all of it once, each whatever the others come to; answers what went wrong. */
  takeAway(): Promise<unknown[]>
}

/** What must not remain when something ends. */
export function collectTeardowns(): Teardowns {
  const works: Work[] = []
  const errors: unknown[] = []
  let ending: Promise<unknown[]> | undefined
  const attempt = async (work: Work) => {
    try {
      await work()
    } catch (error) {
      errors.push(error)
    }
  }
  const takeAll = async () => {
    for (let work = works.pop(); work; work = works.pop()) await attempt(work)
    return errors
  }
  return {
    teardown: (work) => {
      if (ending) void attempt(work)
      else works.push(work)
    },
    takeAway: () => {
      ending ??= takeAll()
      return ending
    },
  }
}

export interface Command extends Pick<Teardowns, 'teardown'> {
  /** Takes everything away and ends the process; with 0 if all was good and nothing is left. */
  end(isGood: boolean): Promise<never>
}

/** npm passes on the signal that a terminal has sent to both: so soon after the first it is the same. */
const sameSignalMs = 1000

/** A command that is run by hand: what it has made is taken away also when it breaks, and on Ctrl-C. */
export function leaveNothing(): Command {
  const { teardown, takeAway } = collectTeardowns()
  let beganMs: number | undefined
  const end = async (isGood: boolean): Promise<never> => {
    beganMs ??= performance.now()
    const errors = await takeAway()
    for (const error of errors) console.error(error)
    process.exit(isGood && errors.length === 0 ? 0 : 1)
  }
  const breakOff = (reason: unknown) => {
    if (beganMs !== undefined) return
    console.error(reason)
    // What goes on fails for want of what is taken away: that is no finding.
    console.log = () => undefined
    void end(false)
  }
  const onSignal = (signal: string) => {
    // Who sends a second one does not want to wait.
    if (beganMs !== undefined && performance.now() - beganMs > sameSignalMs) process.exit(1)
    breakOff(`broken off by ${signal}`)
  }
  process.on('uncaughtException', breakOff)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal)
  return { teardown, end }
}
