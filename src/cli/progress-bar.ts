import cliProgress from 'cli-progress'
import { endingWith } from './ending-with.ts'
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
  // Which gives the cursor back.
  const forgetEnd = endingWith(() => bar.stop())
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
      forgetEnd()
      bar.stop()
    },
  }
}

/** At the mean rate so far, which a slow batch does not shake. */
function timeLeft(startedAt: number, value: number, total: number): string {
  if (value === 0 || value >= total) return ''
  const seconds = Math.ceil(((Date.now() - startedAt) / 1000) * (total / value - 1))
  const minutes = Math.floor(seconds / 60)
  return minutes > 0 ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`
}
