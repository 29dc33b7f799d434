import { setTimeout as sleep } from 'node:timers/promises'
import { Connections, type Reply, refused } from './connections.ts'

/** Requests by status; `broken`: the connection broke. */
export type Ends = Record<string, number>

/** The result of a load: rate of successes, and what became of the rest. */
export interface Outcome {
  goodput: number
  offered: number
  /** Successes, those of the ramp included. */
  done: number
  /** Requests by result, those of the ramp included. */
  ends: Ends
  servedMs: number[]
  refusedMs: number[]
}

/** The next request to send. */
export type Next = () => Buffer

/** Duration of the ramp, until queues are full, and of the measurement. */
export interface Duration {
  rampMs: number
  ms: number
}

/** A closed loop: each connection sends its next request when it has an answer. */
export async function closedLoop(
  port: number,
  next: Next,
  connections: number,
  { rampMs, ms }: Duration,
): Promise<Outcome> {
  const pool = new Connections(port)
  const replies: Reply[] = []
  const inTime: Reply[] = []
  const from = performance.now() + rampMs
  const until = from + ms
  const worker = async () => {
    for (let now = 0; now < until; ) {
      const reply = await pool.send(next())
      now = performance.now()
      replies.push(reply)
      // Answers after the end do not count: with many connections they would double the rate.
      if (now >= from && now < until) inTime.push(reply)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  pool.close()
  return { ...outcome(inTime, ms), done: served(replies).length, ends: endsOf(replies) }
}

/**
 * An open loop: this many requests a second, whether earlier ones are answered or not. Rates and latencies leave
 * out the ramp, in which most time goes into connecting.
 */
export async function openLoop(
  port: number,
  next: Next,
  perSecond: number,
  { rampMs, ms }: Duration,
): Promise<Outcome> {
  const pool = new Connections(port)
  const replies: Reply[] = []
  const ofRamp = new Set<Reply>()
  const pending = new Set<Promise<unknown>>()
  const began = performance.now()
  let sent = 0
  let inRamp: number | undefined
  for (;;) {
    const passed = performance.now() - began
    if (passed > rampMs) inRamp ??= served(replies).length
    if (passed > rampMs + ms) break
    for (; sent < (passed / 1000) * perSecond && pool.busy < 4000; sent++) {
      const reply = pool.send(next()).then((one) => {
        replies.push(one)
        if (passed <= rampMs) ofRamp.add(one)
        pending.delete(reply)
      })
      pending.add(reply)
    }
    await sleep(2)
  }
  const inTime = served(replies).length - (inRamp ?? 0)
  await Promise.all(pending)
  pool.close()
  const { servedMs, refusedMs } = outcome(
    replies.filter((reply) => !ofRamp.has(reply)),
    ms,
  )
  const goodput = inTime / (ms / 1000)
  return { ...outcome(replies, rampMs + ms), goodput, servedMs, refusedMs }
}

function outcome(replies: Reply[], ms: number): Outcome {
  return {
    goodput: served(replies).length / (ms / 1000),
    offered: replies.length / (ms / 1000),
    done: served(replies).length,
    ends: endsOf(replies),
    servedMs: served(replies).map((reply) => reply.ms),
    refusedMs: replies.filter(({ status }) => refused.has(status)).map((reply) => reply.ms),
  }
}

function endsOf(replies: Reply[]): Ends {
  const ends: Ends = {}
  for (const { status, isBare } of replies) {
    const end = status === 0 ? 'broken' : `${status}${isBare ? ' without Retry-After' : ''}`
    ends[end] = (ends[end] ?? 0) + 1
  }
  return ends
}

function served(replies: Reply[]): Reply[] {
  return replies.filter(({ status }) => status >= 200 && status < 300)
}

/** The percentile of some values. */
export function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0
}
