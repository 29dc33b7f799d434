import { sql } from 'kysely'
import type { Export, OpenExport } from '../contract/export.ts'
import { Answer, type Handler, type OperationId } from '../contract/operation.ts'
import type { PageQuery } from '../contract/read-page.ts'
import { answerWhileSending, sendPieces } from '../contract/send-pieces.ts'
import type { Trx } from '../database/pool.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { csvLine, escapeFormula } from './csv-cell.ts'

/** Rows per FETCH, which takes about 10 ms. */
const rowsAtOnce = 2000

/** The longest that a client may pause: as long as its transaction may be idle. */
const stalledMs = 120_000

const byteOrderMark = '\ufeff'

/**
 * Returns the handler that answers an operation with all matching rows as a file, as of one moment, as fast as the client
 * reads. The account's seat is held until the end. Errors in the request are thrown before the response begins.
 */
export function exportRows(open: Export<OperationId>, mediaType: string): Handler<OperationId> {
  return ({ inAccountSending, account, params, query }, context) =>
    answerWhileSending(inAccountSending, async (trx, answer) => {
      const opened = await open(trx, { account, params, query }, context)
      const { bom } = query as PageQuery
      const form = { mediaType, mark: bom === 'true' ? byteOrderMark : '' }
      await sql`declare export no scroll cursor for ${opened.query}`.execute(trx)
      await sendPieces({
        contentType: `${mediaType}; charset=utf-8`,
        stalledMs,
        answer: (stream) => answer(new Answer(stream, opened.headers ?? {})),
        write: (sent) => textOf(trx, opened, form, sent),
      })
    })
}

interface FileForm {
  mediaType: string
  /** The beginning of a CSV file: a byte order mark or ''. */
  mark: string
}

async function* textOf(
  trx: Trx,
  { columns, valueColumn, complete, rowsOf }: OpenExport,
  form: FileForm,
  sent: (rows: number) => void,
): AsyncGenerator<string> {
  const { header, line } = rowWriter(form, columns, valueColumn)
  yield header
  for (;;) {
    const { rows: stored } = await sql`fetch ${sql.lit(rowsAtOnce)} from export`.execute(trx)
    if (stored.length === 0) break
    let count = 0
    // A stored row may hold a month of days times a hundred price dimensions.
    const completed = complete ? await complete(stored) : stored
    const texts = await mapCooperatively(completed, (one) => {
      const rows = rowsOf(one)
      count += rows.length
      return rows.map(line).join('')
    })
    yield texts.join('')
    sent(count)
  }
}

/** Writes the rows of a file, after its `header`. */
interface RowWriter {
  header: string
  line: (row: object) => string
}

/** Returns a writer of NDJSON, or of CSV with these columns, of which `valueColumn` may hold any JSON value. */
function rowWriter(
  { mediaType, mark }: FileForm,
  columns: readonly string[],
  valueColumn?: string,
): RowWriter {
  if (mediaType !== 'text/csv') return { header: '', line: (row) => `${JSON.stringify(row)}\n` }
  const cell = (row: object, name: string) =>
    (name === valueColumn ? valueCellOf : cellOf)(ownValue(row, name))
  return {
    header: mark + csvLine(columns.map(escapeFormula)),
    line: (row) => csvLine(columns.map((name) => cell(row, name))),
  }
}

/**
 * Text stays as it is, unless it could be taken for another value: "12", "true" and "" are written as JSON, with quotes.
 */
function valueCellOf(value: unknown): string {
  const isPlain =
    typeof value === 'string' && /^\p{L}/u.test(value) && !/^(true|false|null)\b/i.test(value)
  return isPlain ? value : JSON.stringify(value)
}

/** A column may be named like an inherited property, such as `toString`, or be a nested key, such as `a.b`. */
function ownValue(row: object, name: string): unknown {
  if (Object.hasOwn(row, name)) return (row as Record<string, unknown>)[name]
  const [, outer = '', inner = ''] = /^([^.]*)\.(.+)$/s.exec(name) ?? []
  const value = outer === '' ? undefined : ownValue(row, outer)
  return typeof value === 'object' && value !== null ? ownValue(value, inner) : undefined
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return escapeFormula(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
