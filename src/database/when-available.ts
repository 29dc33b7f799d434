import { setTimeout as sleep } from 'node:timers/promises'
import { passesByItself } from './transient-errors.ts'

const pauseMs = 250

/**
 * Does `work`, again and again while the database is away, for at most `seconds`: a database that starts beside the
 * service, or starts again under it. Throws at once what will not pass. `onWait` is told the first reason to wait.
 */
export async function whenAvailable<T>(
  work: () => Promise<T>,
  { seconds, onWait }: { seconds: number; onWait: (error: Error) => void },
): Promise<T> {
  const deadline = performance.now() + seconds * 1000
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!passesByItself(error) || performance.now() >= deadline) throw error
      if (attempt === 1) onWait(error as Error)
      await sleep(pauseMs)
    }
  }
}
