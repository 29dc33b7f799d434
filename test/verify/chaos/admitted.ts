import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from './arena.ts'
import type { Answer } from './client.ts'

const withinMs = 3000

/** Repeats a request that is refused as overloaded, for 3 s: load is not what the run tests. */
export async function admitted(
  { timeFactor }: Pick<Arena, 'timeFactor'>,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const deadline = Date.now() + withinMs * timeFactor
  for (;;) {
    const answer = await send()
    if (answer.body?.type !== 'overloaded' || Date.now() > deadline) return answer
    await sleep(20)
  }
}
