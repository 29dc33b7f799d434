import { Problem } from '../client/index.ts'
import type { BadCell } from './bad-cells.ts'
import type { FeedFile } from './feed-file.ts'
import { answer, program } from './program.ts'
import { firstLines, printable, red } from './terminal.ts'

/** Whether the error is about a file only. */
export function isFileRefused(error: unknown): error is Problem {
  const types = [
    ...['invalid-request', 'malformed-file', 'malformed-body', 'payload-too-large'],
    ...['stale-rows', 'guardrail-violated'],
  ]
  return error instanceof Problem && types.includes(error.type)
}

/** Tells why a file was refused, with the first bad lines and what `advise` suggests. */
export async function tellRefused(
  file: FeedFile,
  { type, detail, errors, errorCount: error_count }: Problem,
  advise: (errors: BadCell[]) => string[],
): Promise<void> {
  // Loaded only here, so that other commands start without it.
  const { withCells } = await import('./bad-cells.ts')
  const cells = await withCells(file, errors)
  if (program.opts().json) {
    answer({ file: file.name, type, detail, error_count, errors: cells }, '')
    return
  }
  const lines = cells.map((error) => printable(`${place(error)}${error.message}`))
  const said = [
    red(printable(`${file.name}: ${detail}`)),
    ...firstLines(lines, shownMax, error_count),
    ...advise(cells),
  ]
  console.error(said.join('\n'))
}

/** The most bad rows shown to people. */
const shownMax = 20

/** The most characters of a bad cell shown to people. */
const cellMax = 60

function place({ line, row, field, value }: BadCell): string {
  const cell = value && (value.length > cellMax ? `${value.slice(0, cellMax)}…` : value)
  const named = cell ? `${field} "${cell}"` : field
  const at = line !== undefined ? `line ${line}` : row !== undefined ? `row ${row + 1}` : undefined
  const parts = [at, named].filter((part) => part !== undefined && part !== '')
  return parts.length > 0 ? `${parts.join(', ')}: ` : ''
}

/** What to do about a violated guardrail. */
export const overrideAdvice = "Use --override '<reason>' to let them pass."
