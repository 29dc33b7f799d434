import type { Socket } from 'node:net'
import pg from 'pg'
import { isOutdatedPlan, TransactionNotStarted } from './errors.ts'

/** As long as `commit` waits for a `begin` that takes it along. */
const commitWaitMs = 1

/**
 * A client for transactions that only read. It sends `begin` together with the `set local` that follows it, and neither
 * waits for those nor for `commit`: a read takes one round trip instead of four, and where reads follow each other the
 * `commit` of one goes with the `begin` of the next: Postgres is woken once a read. A `begin` that fails fails them all.
 * All statements of a transaction see the same: what was there when the first of them began.
 * Statements that are asked often are prepared: parsing one takes as long as reading a price.
 */
export class ReadingClient extends pg.Client {
  #isCorked = false
  #isDue = false
  #timer: NodeJS.Timeout | undefined
  /** Why the transaction has not begun: its statements, which were sent already, ran outside and saw no account. */
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
      this.#beginError = isInFailedTransaction(error) ? new TransactionNotStarted(error) : error
    }
    const text = `begin isolation level repeatable read, read only; ${settings}`
    super.query(Object.assign(new pg.Query(text), { callback }))
    return Promise.resolve({ command: 'BEGIN', rows: [] })
  }

  /**
   * What is sent in one go is one write: each would take as long as reading a price. It does not wait for the event loop
   * to turn: while much else is to do, the database would have nothing to do.
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

  /** A query by itself: of a configuration pg makes a copy first, which takes longer than all else that it does. */
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

  /** Statements that were sent after the one that failed fail, too: before whoever comes next. */
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

/** A `commit` or `rollback` that somebody cancels leaves its transaction open, and nobody waits for either. */
function isInFailedTransaction(error: Error | null): boolean {
  return (error as { code?: string } | null)?.code === '25P02'
}

const names = new Map<string, string>()
const uses = new Map<string, number>()

/** A session keeps what it has prepared, 125 kB each: wildcards in columns made 550 texts of five accounts in 20 minutes. */
const namesMax = 100
/** Whoever is asked less often would take the place of who is asked all the time. */
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
