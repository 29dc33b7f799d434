import { setTimeout as sleep } from 'node:timers/promises'
import { Connections, type Reply, refused } from './connections.ts'

/** Requests by status; `broken`: the connection broke. */
export type Ends = Record<string, number>

/** How a load went: what was done a second, and what became of the rest. */
export interface Outcome {
  goodput: number
  offered: number
  /** How many were done, those of the ramp among them. */
  done: number
  /** How many requests came to which end, those of the ramp among them. */
  ends: Ends
  servedMs: number[]
  refusedMs: number[]
}

/** The next request to send. */
export type Next = () => Buffer

/** How long a load goes on: until queues are as full as they get, and then while what is done is counted. */
export interface Duration {
  rampMs: number
  ms: number
}

/** Some connections that send one request after the other. */
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
      // What is answered later was not done in this time: of many connections it may be as much again.
      if (now >= from && now < until) inTime.push(reply)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  pool.close()
  return { ...outcome(inTime, ms), done: served(replies).length, ends: endsOf(replies) }
}

/**
 * So many requests a second, whether those before them are answered or not. Goodput is what is done after the ramp, and
 * times are those of requests that were sent after it: before, most of them are spent on being connected.
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

/** The value that a share of the values does not exceed. */
export function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0
}
