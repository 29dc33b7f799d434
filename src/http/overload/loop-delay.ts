const intervalMs = 20
/** A single long pause (garbage collection, a machine that slept) is none that lasts. */
const looksMin = 3

/** Whether the event loop is late, again and again: then there is more work than one processor does. */
export class LoopDelay {
  readonly #delayMaxMs: number
  readonly #timer: NodeJS.Timeout
  #due = performance.now() + intervalMs
  #late = 0

  /** 0: it is never late. */
  constructor(delayMaxMs: number) {
    this.#delayMaxMs = delayMaxMs || Number.POSITIVE_INFINITY
    this.#timer = setInterval(() => this.#look(), intervalMs).unref()
  }

  /** The delay was over the limit at each of the last looks. No look, no delay: a block is seen when it ends. */
  get isOver(): boolean {
    return this.#late >= looksMin
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const now = performance.now()
    this.#late = now - this.#due > this.#delayMaxMs ? this.#late + 1 : 0
    this.#due = now + intervalMs
  }
}
