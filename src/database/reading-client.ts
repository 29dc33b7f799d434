import type { Socket } from 'node:net'
import pg from 'pg'
import { isInFailedTransaction, isOutdatedPlan, TransactionNotStarted } from './errors.ts'

/** How long `commit` waits for the next `begin`, to be sent with it. */
const commitWaitMs = 1

/**
 * A client for read-only transactions. It sends `begin` with the `set local` that follows, and waits for neither of
 * them nor for `commit`: a read takes one round trip instead of four. The `commit` of a read is sent with the `begin`
 * of the next, so that PostgreSQL wakes up once per read. If `begin` fails, so do all statements of its transaction. A
 * transaction sees one snapshot, taken by its first statement. Frequent statements are prepared: parsing one takes as
 * long as reading a price.
 */
export class ReadingClient extends pg.Client {
  #isCorked = false
  #isDue = false
  #timer: NodeJS.Timeout | undefined
  /** Why the transaction did not start: its statements, already sent, ran outside of it and saw no account. */
  #beginError: Error | null = null

  constructor(config: pg.ClientConfig) {
    super({ ...config, pipeline: true })
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come.
  override query(...args: any[]): any {
    const [text, values] = args
    if (text === 'commit') return this.#commit()
    this.#writeTogether()
    if (text === 'begin') return Promise.resolve({ command: 'BEGIN', rows: [] })
    if (typeof text === 'string' && text.startsWith('set local')) return this.#begin(text)
    if (text === 'rollback') return this.#rollback()
    if (typeof text === 'string') return this.#sendStatement(text, values)
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    return (super.query as any)(...args)
  }

  #begin(settings: string): Promise<{ command: string; rows: never[] }> {
    this.#beginError = null
    const callback = (error: Error | null) => {
      this.#beginError ??= isInFailedTransaction(error) ? new TransactionNotStarted(error) : error
    }
    // A distributed database passes `set local` on to its shards only if it is the whole text.
    for (const text of ['begin isolation level repeatable read, read only', settings])
      super.query(Object.assign(new pg.Query(text), { callback }))
    return Promise.resolve({ command: 'BEGIN', rows: [] })
  }

  /**
   * Joins messages into one write: each write takes as long as reading a price. It does not wait for the event loop;
   * otherwise the database would be idle while the process is busy.
   */
  #writeTogether(): void {
    this.#cork()
    if (this.#isDue) return
    this.#isDue = true
    queueMicrotask(() => process.nextTick(() => this.#uncork()))
  }

  #commit(): Promise<{ command: string; rows: never[] }> {
    this.#cork()
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#uncork()
    }, commitWaitMs)
    return this.#send('commit')
  }

  #cork(): void {
    if (!this.#isCorked) this.#stream.cork()
    this.#isCorked = true
  }

  #uncork(): void {
    if (this.#isCorked) this.#stream.uncork()
    this.#isCorked = false
    this.#isDue = false
  }

  /** Makes the pg.Query directly: pg would copy a query config first, which takes longer than all the rest. */
  #sendStatement(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
    const name = values.length > 0 ? nameOf(text) : undefined
    return new Promise((resolve, reject) => {
      const callback = (failure: Error | null, result: pg.QueryResult) => {
        const error = this.#beginError ?? failure
        if (isOutdatedPlan(error)) this.#stream.destroy()
        if (error) reject(error)
        else resolve(result)
      }
      super.query(Object.assign(new pg.Query(text, values), { name, callback }))
    })
  }

  /** Waits until the statements sent after a failed one have failed too, before the connection is used again. */
  async #rollback(): Promise<{ command: string; rows: never[] }> {
    await super.query('rollback').catch(() => undefined)
    return { command: 'ROLLBACK', rows: [] }
  }

  get #stream(): Socket {
    return (this as unknown as { connection: { stream: Socket } }).connection.stream
  }

  #send(text: string): Promise<{ command: string; rows: never[] }> {
    super.query(text).catch(() => undefined)
    return Promise.resolve({ command: text.toUpperCase(), rows: [] })
  }
}

const names = new Map<string, string>()
const uses = new Map<string, number>()

/** A prepared statement takes 125 kB per session. Wildcards of five accounts made 550 texts in 20 minutes. */
const namesMax = 100
/** Rare statements must not take the names of frequent ones. */
const usesMin = 10
const textsMax = 1000

function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known || names.size >= namesMax) return known
  const count = (uses.get(text) ?? 0) + 1
  if (uses.size >= textsMax) uses.clear()
  uses.set(text, count)
  if (count >= usesMin) names.set(text, `read_${names.size}`)
  return names.get(text)
}
