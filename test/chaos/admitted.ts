import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from './arena.ts'
import type { Answer } from './client.ts'

const withinMs = 3000

/** Sent until the service, which has much to do for others, takes it; how long that takes is no matter of what is broken. */
export async function admitted(
  { patience }: Pick<Arena, 'patience'>,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const deadline = Date.now() + withinMs * patience
  for (;;) {
    const answer = await send()
    if (answer.body?.type !== 'overloaded' || Date.now() > deadline) return answer
    await sleep(20)
  }
}
