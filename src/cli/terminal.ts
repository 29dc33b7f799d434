import { styleText } from 'node:util'
import cliProgress from 'cli-progress'

/** Colours what goes to standard error, if that is a terminal and colours are not switched off (NO_COLOR). */
export function paint(colour: 'red' | 'dim', text: string): string {
  const isColoured = process.stderr.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return isColoured ? styleText(colour, text, { validateStream: false }) : text
}

/** The text without control characters other than line ends: a name could move the cursor or colour the terminal. */
export function printable(text: string): string {
  return text.replace(/(?!\n)\p{Cc}/gu, '·')
}

/** `1 row`, `2,000 rows`. */
export function rowCount(rows: number): string {
  return `${number(rows)} ${rows === 1 ? 'row' : 'rows'}`
}

export function number(value: number): string {
  return value.toLocaleString('en')
}

type Cell = string | number | boolean | null | undefined
export type TableRow = Record<string, Cell>

/** Rows as columns of text under their keys, numbers to the right, without empty columns. */
export function table(rows: TableRow[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) =>
    rows.some((row) => text(row[name]) !== ''),
  )
  const columns = names.map((name) => {
    const isNumeric = rows.every((row) => row[name] == null || typeof row[name] === 'number')
    const width = Math.max(name.length, ...rows.map((row) => text(row[name]).length))
    const fit = (cell: string) => (isNumeric ? cell.padStart(width) : cell.padEnd(width))
    return [fit(name), ...rows.map((row) => fit(text(row[name])))]
  })
  const lines = [0, ...rows.map((_, index) => index + 1)].map((line) =>
    columns
      .map((cells) => cells[line])
      .join('  ')
      .trimEnd(),
  )
  return lines.join('\n')
}

function text(cell: Cell): string {
  return cell == null ? '' : printable(String(cell)).replaceAll('\n', '·')
}

/** A bar on standard error. */
export interface Bar {
  show(value: number, total: number, note?: string): void
  /** Ends the bar; may be called again. */
  stop(): void
}

/** Shows nothing if standard error is no terminal or the output is JSON. */
export function startBar(label: string, { json }: { json?: true | undefined }): Bar {
  if (json || !process.stderr.isTTY) return { show: () => undefined, stop: () => undefined }
  const format = `${label} {bar} {percentage} %{note}  {left}`
  const bar = new cliProgress.SingleBar(
    { format, stream: process.stderr, hideCursor: true },
    cliProgress.Presets.shades_classic,
  )
  // Shows the cursor again.
  const forgetEnd = endingWith(() => bar.stop())
  const startedAt = Date.now()
  let isStopped = false
  return {
    show: (value, total, note = '') => {
      // A restarted bar would keep the process alive.
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

/** The time left at the mean rate so far. */
function timeLeft(startedAt: number, value: number, total: number): string {
  if (value === 0 || value >= total) return ''
  const seconds = Math.ceil(((Date.now() - startedAt) / 1000) * (total / value - 1))
  const minutes = Math.floor(seconds / 60)
  return minutes > 0 ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`
}

/** Does `work` if the command ends first, also by a signal. Returns a function that cancels this. */
export function endingWith(work: () => void): () => void {
  const end = (_signal: NodeJS.Signals, number: number) => process.exit(128 + number)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  process.once('exit', work)
  for (const signal of signals) process.once(signal, end)
  return () => {
    process.off('exit', work)
    for (const signal of signals) process.off(signal, end)
  }
}
