import cliProgress from 'cli-progress'
import type { Shared } from './program.ts'

/** A bar on standard error. */
export interface Bar {
  show(value: number, total: number, note?: string): void
  /** Leaves the bar as it is, whatever comes; more than once does no harm. */
  stop(): void
}

/** Shows nothing where standard error is no terminal, or JSON is asked for. */
export function startBar(label: string, { json }: Shared): Bar {
  if (json || !process.stderr.isTTY) return { show: () => undefined, stop: () => undefined }
  const format = `${label} {bar} {percentage} %{note}  {left}`
  const bar = new cliProgress.SingleBar(
    { format, stream: process.stderr, hideCursor: true },
    cliProgress.Presets.shades_classic,
  )
  const forgetSignals = endingWith(() => bar.stop())
  const startedAt = Date.now()
  let isStopped = false
  return {
    show: (value, total, note = '') => {
      // A bar that is started again would keep the process alive.
      if (isStopped) return
      const payload = { note, left: timeLeft(startedAt, value, total) }
      if (!bar.isActive) bar.start(total, value, payload)
      bar.setTotal(total)
      bar.update(value, payload)
    },
    stop: () => {
      isStopped = true
      forgetSignals()
      bar.stop()
    },
  }
}

/** A signal ends the command once `work` is done, which gives the cursor back. Answers how to leave signals alone. */
function endingWith(work: () => void): () => void {
  const end = (_signal: NodeJS.Signals, number: number) => {
    work()
    process.exit(128 + number)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, end)
  return () => {
    for (const signal of signals) process.off(signal, end)
  }
}

/** At the mean rate so far, which a slow batch does not shake. */
function timeLeft(startedAt: number, value: number, total: number): string {
  if (value === 0 || value >= total) return ''
  const seconds = Math.ceil(((Date.now() - startedAt) / 1000) * (total / value - 1))
  const minutes = Math.floor(seconds / 60)
  return minutes > 0 ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`
}
