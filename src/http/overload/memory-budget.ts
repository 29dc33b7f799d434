import { overloaded, refusalOf } from '../../contract/problem.ts'
import { Shares } from '../../lib/shares.ts'
import type { Client } from './fair-queue.ts'

/** Bodies up to this size, as of most reads, are let in while large ones have filled the sum. */
const smallBytes = 64 * 1024
/** How much more than the sum small bodies may take, as a share of it. */
const reserve = 0.1
/** The same for the bodies of accounts that have no more than this themselves: nobody keeps the others out. */
const reserveOfOthers = 0.25

/**
 * The bodies that are being received or worked on. Memory is a multiple of their sum, so the sum is bounded; one that is
 * alone is let in whatever its size.
 */
export class BodiesInFlight {
  readonly #bytesMax: number
  readonly #bytesOf = new Map<number, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The sum at this moment. */
  get bytes(): number {
    return this.#bytes
  }

  /** A body of the account, of which nothing is counted yet. */
  begin(account: number): HeldBody {
    return new HeldBody(
      (held, size) => this.#rejectFull(account, held, size),
      (difference) => this.#count(account, difference),
    )
  }

  #rejectFull(account: number, held: number, size: number): void {
    const others = this.#bytes - held
    const own = (this.#bytesOf.get(account) ?? 0) - held + size
    const isModest = own <= this.#bytesMax * reserveOfOthers
    const more = (size <= smallBytes ? reserve : 0) + (isModest ? reserveOfOthers : 0)
    if (others > 0 && others + size > this.#bytesMax * (1 + more))
      throw overloaded('The bodies that are being worked on take all the memory there is.')
  }

  #count(account: number, difference: number): void {
    this.#bytes += difference
    const own = (this.#bytesOf.get(account) ?? 0) + difference
    if (own > 0) this.#bytesOf.set(account, own)
    else this.#bytesOf.delete(account)
  }
}

/** The part of one body in the sum; kept while the client waits for its answer or work on it is under way. */
export class HeldBody {
  readonly #rejectFull: (held: number, size: number) => void
  readonly #count: (difference: number) => void
  #bytes = 0
  #holders = 1

  constructor(
    rejectFull: (held: number, size: number) => void,
    count: (difference: number) => void,
  ) {
    this.#rejectFull = rejectFull
    this.#count = count
  }

  /** What is counted of it. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts the body with this size from now on; throws `overloaded` when other bodies leave no room for it. */
  grow(bytes: number): void {
    // What still comes of a body that was refused is thrown away: it takes no room.
    if (this.#holders > 0) this.#rejectFull(this.#bytes, bytes)
    this.recount(bytes)
  }

  /** As `grow`, for what is in the memory already. */
  recount(bytes: number): void {
    if (this.#holders === 0) return
    this.#count(bytes - this.#bytes)
    this.#bytes = bytes
  }

  /** Keeps the part until the work is done, also when the client goes. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#holders++
    try {
      return await work()
    } finally {
      this.release()
    }
  }

  /** The client has its answer, or is gone. */
  release(): void {
    if (this.#holders === 1) this.recount(0)
    this.#holders--
  }
}

/** What clients have not read of smaller answers is with the operating system. */
const smallAnswerBytes = 16 * 1024
const unreadBytesMax = 256 * 1024 * 1024

/** The answers to reads that are in memory whole until their clients have read them, be they as slow as they like. */
export class UnreadAnswers {
  readonly #shares = new Shares(unreadBytesMax)

  /**
   * Counts an answer until its client has read it or is gone. Throws `too-many-requests` when the account has too much
   * to read already, `overloaded` when others have.
   */
  hold(account: number, bytes: number, client: Client & { destroyed: boolean }): void {
    if (bytes <= smallAnswerBytes || client.destroyed) return
    if (!this.#shares.hasRoom(account, bytes)) throw this.#refusal(account)
    client.once('close', this.#shares.take(account, bytes))
  }

  #refusal(account: number) {
    return this.#shares.of(account) > 0
      ? refusalOf('too-many-requests', 'Read the answers that this account was sent first.', 1)
      : overloaded('Answers that others do not read take all the memory there is for answers.')
  }
}
