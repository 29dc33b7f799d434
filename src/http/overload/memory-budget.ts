import { overloaded, refusalOf } from '../../contract/problem.ts'
import { AccountBudget } from '../../lib/account-budget.ts'
import type { Client } from './fair-queue.ts'

/** Bodies up to this size, like those of most reads, are admitted even when large ones have used up the budget. */
const smallBytes = 64 * 1024
/** How much small bodies may take beyond the budget, as a share of it. */
const reserveOfSmall = 0.1
/** The same for accounts whose own bodies stay within this share, so that no account shuts the others out. */
const reserveOfOthers = 0.25

/**
 * Bytes of all bodies being received or processed. The memory of the process is a multiple of their sum. A lone body is
 * admitted whatever its size.
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

  /** Registers a body of the account, which takes no room yet. `announced` is its Content-Length, if it has one. */
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

/** The room that one body takes until its response is sent and all work on it is done. */
export class HeldBody {
  readonly #budget: BodyBudget
  #bytes = 0
  #holders = 1
  #giveBack = () => {}

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Resizes the room to `bytes` in total; throws `overloaded` if other bodies leave none. */
  grow(bytes: number): void {
    // The rest of a refused body is discarded and takes no room.
    if (this.#holders > 0) this.#budget.rejectFull(this.#bytes, bytes)
    this.#resize(bytes)
  }

  /** Frees the announced room of a slow body, which then takes only what has arrived. */
  shrink(arrived: number): void {
    const { announced } = this.#budget
    if (announced !== undefined) this.#resize(Math.min(arrived, announced))
  }

  /** Takes the announced room again once the whole body has arrived. */
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

  /** Ends one hold on the room; the last one frees it. */
  release(): void {
    if (this.#holders === 1) this.#resize(0)
    this.#holders--
  }
}

/** The operating system buffers smaller responses immediately. */
const smallResponseBytes = 16 * 1024
const unreadBytesMax = 256 * 1024 * 1024

/** Bytes of the responses to reads that stay in memory until their clients, however slow, have read them. */
export class UnreadResponses {
  readonly #budget = new AccountBudget(unreadBytesMax)

  /**
   * Counts a response until its client has read it or is gone. Throws `too-many-requests` if the account already has
   * too much unread, `overloaded` if others do.
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
