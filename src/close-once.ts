import closeWithGrace from 'close-with-grace'

type Signal = 'SIGINT' | 'SIGTERM'

/** What a fault of a program itself sends: with a listener it would be repeated for ever, and the process never end. */
const ofFaults = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const

/** What ends a process: a signal, or an error that nobody has caught. */
export interface Ending {
  signal: Signal | undefined
  err: Error | undefined
}

/** npm passes on the signal that a terminal has sent to both: so soon after the first it is the same. */
const sameSignalMs = 1000

/**
 * Closes when the process is told to end, or breaks, and ends it then or after `delay` ms. Who sends a second signal
 * does not want to wait: it ends the process at once.
 */
export function closeOnce(delay: number, close: (ending: Ending) => Promise<void>): void {
  let signal: Signal | undefined
  let began: number | undefined
  const skip = [...ofFaults, 'SIGINT' as const, 'SIGTERM' as const]
  const grace = closeWithGrace({ delay, logger: false, skip }, ({ err }) => {
    began = performance.now()
    return close({ signal, err })
  })
  const onSignal = (name: Signal) => {
    signal ??= name
    if (began === undefined) grace.close()
    else if (performance.now() - began > sameSignalMs) process.exit(1)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
}
