import { overloaded, refusalOf } from '../../contract/overloaded.ts'
import { Shares } from '../../lib/shares.ts'
import type { Client } from './fair-queue.ts'

/** What clients have not read of smaller answers is with the operating system. */
const smallBytes = 16 * 1024
const bytesMax = 256 * 1024 * 1024

/** The answers to reads that are in memory whole until their clients have read them, be they as slow as they like. */
export class UnreadAnswers {
  readonly #shares = new Shares(bytesMax)

  /**
   * Counts an answer until its client has read it or is gone. Throws `too-many-requests` when the account has too much
   * to read already, `overloaded` when others have.
   */
  hold(account: number, bytes: number, client: Client & { destroyed: boolean }): void {
    if (bytes <= smallBytes || client.destroyed) return
    if (!this.#shares.hasRoom(account, bytes)) throw this.#refusal(account)
    client.once('close', this.#shares.take(account, bytes))
  }

  #refusal(account: number) {
    return this.#shares.of(account) > 0
      ? refusalOf('too-many-requests', 'Read the answers that this account was sent first.', 1)
      : overloaded('Answers that others do not read take all the memory there is for answers.')
  }
}
