import type { Test } from 'tap'

/** Lets time pass, until the test ends: every clock of the process is so much later. */
export function letPass(t: Test, ms: number): void {
  const { now } = performance
  performance.now = () => now.call(performance) + ms
  t.teardown(() => {
    performance.now = now
  })
  setClock(t, ms)
}

/** Sets the clock of the machine forward or back, until the test ends: no time passes. */
export function setClock(t: Test, ms: number): void {
  const { now } = Date
  Date.now = () => now() + ms
  t.teardown(() => {
    Date.now = now
  })
}
