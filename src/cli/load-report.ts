import type { Problem, RowError } from '../client/index.ts'
import type { Loaded } from './send-file.ts'
import { paint, printable } from './terminal.ts'

/** Bad rows that people are shown; more of them are no help. */
const shownMax = 20

/** What became of the rows, in a line. */
export function describeLoaded(file: string, loaded: Loaded, seconds: number): string {
  const { rows, created, updated } = loaded
  const isUnknown = created === undefined || updated === undefined
  const news = isUnknown ? '' : `, ${number(created)} new, ${number(updated)} updated`
  const rate = number(Math.round(rows / Math.max(seconds, 0.001)))
  return `${file}: ${rowCount(rows)}${news} in ${seconds.toFixed(1)} s (${rate} rows/s).`
}

/** Why a file was refused: its bad lines, the first of them where there are many. */
export function describeRefused(
  file: string,
  { detail, errors, errorCount }: Problem,
  rejects: string | undefined,
): string {
  const more = errorCount - Math.min(errors.length, shownMax)
  return [
    paint('red', printable(`${file}: ${detail}`)),
    ...errors.slice(0, shownMax).map((error) => printable(`  ${place(error)}${error.message}`)),
    ...(more > 0 && errors.length > 0 ? [`  and ${number(more)} more`] : []),
    ...(rejects ? [`${rejects} has the rejected rows, each with what is wrong.`] : []),
  ].join('\n')
}

function place({ line, field }: RowError): string {
  const parts = [...(line === undefined ? [] : [`line ${line}`]), ...(field ? [field] : [])]
  return parts.length > 0 ? `${parts.join(', ')}: ` : ''
}

/** `1 row`, `2,000 rows`. */
export function rowCount(rows: number): string {
  return `${number(rows)} ${rows === 1 ? 'row' : 'rows'}`
}

function number(value: number): string {
  return value.toLocaleString('en')
}
