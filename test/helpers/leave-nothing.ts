type Work = () => unknown

/** Teardowns of a command or a run. */
export interface Teardowns {
  /** Runs `work` at the end, last registered first; at once if it has ended. */
  teardown(work: Work): void
  /** Runs all teardowns once, even if some fail; returns their errors. */
  takeAway(): Promise<unknown[]>
}

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
  /** Runs the teardowns and ends the process: 0 if `isGood` and none failed. */
  end(isGood: boolean): Promise<never>
}

/** npm repeats the terminal's signal to its child: within this time it is the same Ctrl-C. */
const sameSignalMs = 1000

/** Teardowns of a command that also run after an uncaught error or a signal. */
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
    // What still runs now fails because of the teardowns.
    console.log = () => undefined
    void end(false)
  }
  const onSignal = (signal: string) => {
    // A second signal ends the process at once.
    if (beganMs !== undefined && performance.now() - beganMs > sameSignalMs) process.exit(1)
    breakOff(`broken off by ${signal}`)
  }
  process.on('uncaughtException', breakOff)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal)
  return { teardown, end }
}
