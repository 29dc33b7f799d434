import { once } from 'node:events'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { nextTurn } from '../lib/cooperative.ts'

/** Lines of COPY text, given as the one parameter of a COPY statement. */
export class CopySource {
  readonly chunks: AsyncIterable<string>

  constructor(chunks: AsyncIterable<string>) {
    this.chunks = chunks
  }
}

/** What pg says when `query_timeout` has passed. It leaves the connection open, and each further statement would wait. */
const timedOut = 'Query read timeout'

/** A client has ten minutes to fetch the rows: a slow one would hold its connection for an hour. */
const copyOutMs = 600_000

/** Stands for the end of `copy (select ...) to stdout`, as its last parameter. */
export class CopyTarget {}

/**
 * A client that streams a CopySource into `copy ... from stdin $1`, and answers `copy (...) to stdout $1` with the one
 * row `{ stream }`, so that COPY runs inside a query builder's transaction like any other statement.
 */
export class CopyingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
  override query(...args: any[]): any {
    const [text, values] = args
    const last = Array.isArray(values) ? values.at(-1) : undefined
    if (last instanceof CopySource) return this.#copy(text, last)
    if (last instanceof CopyTarget) return this.#copyOut(text, values.slice(0, -1))
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const answer = (super.query as any)(...args)
    answer?.catch?.((error: Error) => error.message === timedOut && this.end())
    return answer
  }

  async #copy(text: string, { chunks }: CopySource): Promise<{ command: string; rows: never[] }> {
    const stream = super.query(copyFrom(text.replace(/\$1\s*$/, '')))
    const finished = once(stream, 'finish')
    finished.catch(() => undefined)
    // For as long as the stream lives: one that has failed may fail again when it is written to or ended.
    let failure: Error | undefined
    stream.on('error', (error) => {
      failure = error
    })
    try {
      for await (const chunk of chunks) {
        if (failure) throw failure
        if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), finished])
      }
      if (failure) throw failure
      stream.end()
    } catch (error) {
      stream.destroy(error as Error)
      throw error
    }
    await finished
    return { command: 'COPY', rows: [] }
  }

  /** COPY takes no parameters: numbers become part of the text, all else is set for the transaction and read by it. */
  async #copyOut(text: string, values: unknown[]): Promise<{ command: string; rows: [unknown] }> {
    const settings = values.flatMap((value, index) =>
      isLiteral(value) ? [] : [{ name: settingName(index + 1), value }],
    )
    settings.push({ name: 'statement_timeout', value: copyOutMs })
    const sets = settings.map(({ name }, index) => `set_config('${name}', $${index + 1}, true)`)
    const given = settings.map(({ value }) => value)
    await super.query(`select ${sets.join(', ')}`, given)
    const select = text.replace(/ \$\d+$/, '').replace(/\$(\d+)/g, (_, place: string) => {
      const value = values[Number(place) - 1]
      return isLiteral(value) ? String(value) : `current_setting('${settingName(Number(place))}')`
    })
    const stream = super.query(copyTo(select))
    // The rows that a reader leaves unread can only be dropped with the connection.
    stream.once('close', () => {
      if (stream.readableEnded) return
      stream.on('error', () => undefined)
      void this.end()
    })
    return { command: 'COPY', rows: [{ stream }] }
  }
}

const settingName = (place: number) => `app.copy_${place}`

const isLiteral = (value: unknown) => typeof value === 'number' || value === null

const chunkLength = 64 * 1024

/** Rows as COPY text in chunks; other requests get their turn after each. */
export async function* copyText<T>(
  rows: readonly T[],
  line: (row: T) => string,
): AsyncIterable<string> {
  let chunk = ''
  for (const row of rows) {
    chunk += line(row)
    if (chunk.length < chunkLength) continue
    yield chunk
    chunk = ''
    await nextTurn()
  }
  if (chunk !== '') yield chunk
}

/** A value as a field of COPY text. */
export function copyField(value: string | number | boolean | null): string {
  if (value === null) return '\\N'
  if (typeof value !== 'string') return String(value)
  return /[\\\t\n\r]/.test(value) ? value.replace(/[\\\t\n\r]/g, escaped) : value
}

function escaped(character: string): string {
  return { '\\': '\\\\', '\t': '\\t', '\n': '\\n' }[character] ?? '\\r'
}

/** The fields of a line of COPY text, null for NULL. */
export function readCopyLine(line: string): (string | null)[] {
  const fields = line.split('\t')
  return line.includes('\\') ? fields.map(readCopyField) : fields
}

const unescapes: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

function readCopyField(field: string): string | null {
  if (field === '\\N') return null
  return field.replace(/\\(.)/g, (_, character: string) => unescapes[character] ?? character)
}
