import { once } from 'node:events'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { nextTurn } from '../next-turn.ts'

/** Lines of COPY text, given as the one parameter of a COPY statement. */
export class CopySource {
  readonly chunks: AsyncIterable<string>

  constructor(chunks: AsyncIterable<string>) {
    this.chunks = chunks
  }
}

/**
 * A client that streams a CopySource into `copy ... from stdin $1`, so that COPY runs inside a query builder's
 * transaction like any other statement.
 */
export class CopyingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
  override query(...args: any[]): any {
    const [text, values] = args
    const source = Array.isArray(values) ? values[0] : undefined
    if (source instanceof CopySource) return this.#copy(text, source)
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    return (super.query as any)(...args)
  }

  async #copy(text: string, { chunks }: CopySource): Promise<{ command: string; rows: never[] }> {
    const stream = super.query(copyFrom(text.replace(/\$1\s*$/, '')))
    const finished = once(stream, 'finish')
    finished.catch(() => undefined)
    try {
      for await (const chunk of chunks) {
        if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), finished])
      }
      stream.end()
    } catch (error) {
      stream.destroy(error as Error)
      throw error
    }
    await finished
    return { command: 'COPY', rows: [] }
  }
}

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
