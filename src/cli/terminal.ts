import { styleText } from 'node:util'
import cliProgress from 'cli-progress'

/** Colors text red for standard error, if that is a terminal and colors are not turned off (NO_COLOR). */
export function red(text: string): string {
  const isColoured = process.stderr.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return isColoured ? styleText('red', text, { validateStream: false }) : text
}

/** Replaces control characters other than line feeds: a name could otherwise move the cursor or color the terminal. */
export function printable(text: string): string {
  return text.replace(/(?!\n)\p{Cc}/gu, '·')
}

/** `1 row`, `2,000 rows`. */
export function rowCount(rows: number): string {
  return `${number(rows)} ${rows === 1 ? 'row' : 'rows'}`
}

/** `2,000`: a number for people. */
export function number(value: number): string {
  return value.toLocaleString('en')
}

/** The first lines, indented, and how many more of `total` there are. */
export function firstLines(lines: string[], max: number, total: number): string[] {
  const shown = lines.slice(0, max).map((line) => `  ${line}`)
  const more = total - shown.length
  return more > 0 && shown.length > 0 ? [...shown, `  and ${number(more)} more`] : shown
}

type Cell = string | number | boolean | null | undefined

/** A row of a table: its cells by column. */
export type TableRow = Record<string, Cell>

/**
 * Formats rows as text columns under their keys: numbers right-aligned, empty columns left out. Returns `none` if there
 * are no rows.
 */
export function table(rows: TableRow[], none = ''): string {
  if (rows.length === 0) return none
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

interface Bar {
  show(value: number, total: number, note?: string): void
  /** Ends the bar; may be called again. */
  stop(): void
}

/** Starts a progress bar on standard error; shows nothing if that is not a terminal or the output is JSON. */
export function startBar(label: string, { json }: { json?: true | undefined }): Bar {
  if (json || !process.stderr.isTTY) return { show: () => undefined, stop: () => undefined }
  const format = `${label} {bar} {percentage} %{note}  {duration_formatted}  {left}`
  const bar = new cliProgress.SingleBar(
    { format, stream: process.stderr, hideCursor: true },
    cliProgress.Presets.shades_classic,
  )
  // Stopping the bar restores the cursor.
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

/** The time left at the average rate so far. */
function timeLeft(startedAt: number, value: number, total: number): string {
  if (value === 0 || value >= total) return ''
  const seconds = Math.ceil(((Date.now() - startedAt) / 1000) * (total / value - 1))
  const minutes = Math.floor(seconds / 60)
  return minutes > 0 ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`
}

/** Runs `work` if the command exits first, even by a signal. Returns a function that cancels this. */
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
