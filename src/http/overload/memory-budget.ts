import { overloaded, refusalOf } from '../../contract/problem.ts'
import { AccountBudget } from '../../lib/account-budget.ts'
import type { Client } from './fair-queue.ts'

/** Bodies up to this size, as most reads have, are admitted while large ones have taken the whole budget. */
const smallBytes = 64 * 1024
/** How much small bodies may take beyond the budget, as a share of it. */
const reserveOfSmall = 0.1
/** The same for accounts whose bodies take no more than this themselves, so that no account keeps the others out. */
const reserveOfOthers = 0.25

/**
 * Bytes of the bodies that are being received or worked on. The memory of the process is a multiple of their sum. A body
 * that is alone is admitted whatever its size.
 */
export class BodiesInFlight {
  readonly #bytesMax: number
  readonly #budget: AccountBudget

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#budget = new AccountBudget(bytesMax)
  }

  /** Bytes of all bodies. */
  get bytes(): number {
    return this.#budget.taken
  }

  /** A body of the account that takes nothing yet. `announced` is its Content-Length, if it has one. */
  begin(account: number, announced?: number): HeldBody {
    return new HeldBody({
      announced,
      take: (bytes) => this.#budget.take(account, bytes),
      rejectFull: (held, bytes) => this.#rejectFull(account, held, bytes),
    })
  }

  #rejectFull(account: number, held: number, bytes: number): void {
    const others = this.bytes - held
    const own = this.#budget.of(account) - held + bytes
    const isModest = own <= this.#bytesMax * reserveOfOthers
    const reserve = (bytes <= smallBytes ? reserveOfSmall : 0) + (isModest ? reserveOfOthers : 0)
    if (others > 0 && others + bytes > this.#bytesMax * (1 + reserve))
      throw overloaded('The bodies that are being worked on take all the memory there is.')
  }
}

interface BodyBudget {
  announced: number | undefined
  take: (bytes: number) => () => void
  rejectFull: (held: number, bytes: number) => void
}

/** What one body takes, until its response is sent and no work on it is under way. */
export class HeldBody {
  readonly #budget: BodyBudget
  #bytes = 0
  #holders = 1
  #giveBack = () => {}

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** Bytes that the body takes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes room for so many bytes in all; throws `overloaded` if other bodies leave none. */
  grow(bytes: number): void {
    // The rest of a refused body is thrown away and takes no room.
    if (this.#holders > 0) this.#budget.rejectFull(this.#bytes, bytes)
    this.#resize(bytes)
  }

  /** A body that arrives slowly takes what has arrived; the room that it announced is for others. */
  shrink(arrived: number): void {
    const { announced } = this.#budget
    if (announced !== undefined) this.#resize(Math.min(arrived, announced))
  }

  /** The whole body has arrived. */
  complete(): void {
    const { announced } = this.#budget
    if (announced !== undefined) this.#resize(announced)
  }

  #resize(bytes: number): void {
    if (this.#holders === 0) return
    this.#giveBack()
    this.#giveBack = this.#budget.take(bytes)
    this.#bytes = bytes
  }

  /** Keeps the room until the work is done, even if the client goes. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#holders++
    try {
      return await work()
    } finally {
      this.release()
    }
  }

  /** The response was sent, or the client is gone. */
  release(): void {
    if (this.#holders === 1) this.#resize(0)
    this.#holders--
  }
}

/** The operating system takes smaller responses at once. */
const smallResponseBytes = 16 * 1024
const unreadBytesMax = 256 * 1024 * 1024

/** Bytes of the responses to reads that are in memory until their clients, however slow, have read them. */
export class UnreadResponses {
  readonly #budget = new AccountBudget(unreadBytesMax)

  /**
   * Counts a response until its client has read it or is gone. Throws `too-many-requests` if the account has too much to
   * read already, `overloaded` if others have.
   */
  hold(account: number, bytes: number, client: Client & { destroyed: boolean }): void {
    if (bytes <= smallResponseBytes || client.destroyed) return
    if (!this.#budget.hasRoom(account, bytes)) throw this.#refusal(account)
    client.once('close', this.#budget.take(account, bytes))
  }

  #refusal(account: number) {
    return this.#budget.of(account) > 0
      ? refusalOf('too-many-requests', 'Read the answers that this account was sent first.', 1)
      : overloaded('Answers that others do not read take all the memory there is for answers.')
  }
}
