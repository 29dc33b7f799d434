import { once } from 'node:events'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { yieldToEventLoop } from '../lib/cooperative.ts'
import { arrayLiteral } from './array-literal.ts'

/** Lines of COPY text, as the only parameter of `copy ... from stdin $1`. */
export class CopySource {
  readonly chunks: AsyncIterable<string>

  constructor(chunks: AsyncIterable<string>) {
    this.chunks = chunks
  }
}

/** pg's message after `query_timeout`. pg leaves the connection open, where all further statements would wait. */
const timedOut = 'Query read timeout'

/** How long a client may take to fetch the rows, and so hold a connection. */
const copyOutMs = 600_000

/** The last parameter of `copy (select ...) to stdout $n`. */
export class CopyTarget {}

/**
 * A client that streams a CopySource into `copy ... from stdin`, and returns one row `{ stream }` for `copy (...) to
 * stdout`, so that COPY runs in a transaction of the query builder like any other statement.
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
    // A stream that has failed may fail again when it is written to or ended.
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

  /** COPY takes no parameters: they become part of the text. */
  async #copyOut(text: string, values: unknown[]): Promise<{ command: string; rows: [unknown] }> {
    await super.query(`set local statement_timeout = ${copyOutMs}`)
    const select = text
      .replace(/ \$\d+$/, '')
      .replace(/\$(\d+)/g, (_, place: string) => literal(values[Number(place) - 1]))
    const stream = super.query(copyTo(select))
    // Unread rows can be discarded only by closing the connection.
    stream.once('close', () => {
      if (stream.readableEnded) return
      stream.on('error', () => undefined)
      void this.end()
    })
    return { command: 'COPY', rows: [{ stream }] }
  }
}

/** A parameter as an SQL literal; all but numbers and null are text, which the statements cast. */
function literal(value: unknown): string {
  if (value === null || typeof value === 'number') return String(value)
  const text = Array.isArray(value) ? arrayLiteral(value) : String(value)
  return `${pg.escapeLiteral(text)}::text`
}

const chunkLength = 64 * 1024

/** Yields rows as COPY text in chunks; other requests run between chunks. */
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
    await yieldToEventLoop()
  }
  if (chunk !== '') yield chunk
}

/** Escapes a value as a field of COPY text. */
export function copyField(value: string | number | boolean | null): string {
  if (value === null) return '\\N'
  if (typeof value !== 'string') return String(value)
  return /[\\\t\n\r]/.test(value) ? value.replace(/[\\\t\n\r]/g, escaped) : value
}

function escaped(character: string): string {
  return { '\\': '\\\\', '\t': '\\t', '\n': '\\n' }[character] ?? '\\r'
}

/** Splits a line of COPY text into fields, null for NULL. */
export function readCopyLine(line: string): (string | null)[] {
  const fields = line.split('\t')
  return line.includes('\\') ? fields.map(readCopyField) : fields
}

const unescapes: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

function readCopyField(field: string): string | null {
  if (field === '\\N') return null
  return field.replace(/\\(.)/g, (_, character: string) => unescapes[character] ?? character)
}
