import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

/** A moment after all that was written: the service keeps milliseconds, and rounds them up. */
export async function nextMoment(): Promise<string> {
  await sleep(2)
  return new Date().toISOString()
}

/** Moves all clocks of this process forward until the test ends. */
export function letPass(t: Test, ms: number): void {
  const { now } = performance
  performance.now = () => now.call(performance) + ms
  t.teardown(() => {
    performance.now = now
  })
  setClock(t, ms)
}

/** Sets the wall clock forward or back until the test ends; monotonic time stays. */
export function setClock(t: Test, ms: number): void {
  const Clock = Date
  globalThis.Date = class extends Clock {
    static override now = () => Clock.now() + ms

    constructor(...given: [] | [number]) {
      super(...((given.length > 0 ? given : [Clock.now() + ms]) as [number]))
    }
  } as DateConstructor
  t.teardown(() => {
    globalThis.Date = Clock
  })
}
