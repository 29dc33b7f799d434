import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** How long a statement says nothing until its server is asked, each time, whether it works on it. */
const lookMs = 5000
/** How long the server may take to answer that. */
const answerMs = 2000
/** Nor is what takes long given up at once when it does not answer: the more was done, the more is lost. */
const patienceMaxMs = 15_000
const patienceShare = 0.05
/** Of failures to ask: the server may be well. */
const ownFailures = new Set(['EMFILE', 'ENFILE', 'ENOTFOUND', 'EAI_AGAIN'])

/** What pg keeps to itself. */
export const inside = (client: pg.ClientBase) =>
  client as unknown as {
    connection: { stream: Socket }
    readyForQuery: boolean
    processID: number
  }

/** Why a connection is closed on which nothing arrives. */
export const silence = () =>
  Object.assign(new Error('the database is silent'), { code: 'ETIMEDOUT' })

/** Whether the server works on a statement; undefined: it does not answer. */
type Look = () => Promise<boolean | undefined>

/**
 * Closes a connection that waits for an answer and on which nothing arrives, since the network swallows it: after
 * `limitMs`, once the server says that it does not work on the answer, or when it says nothing for a part of that time.
 */
export function endSilence(client: pg.ClientBase, limitMs: number, look: Look): void {
  const { stream } = inside(client).connection
  const waitMs = Math.min(lookMs, limitMs)
  const patienceMs = Math.min(limitMs * patienceShare, patienceMaxMs)
  stream.setTimeout(waitMs)
  // Each time, as a callback of `setTimeout` is not: any connection is idle for a while before it is lost.
  stream.on('timeout', async () => {
    const passed = bytesPassed(stream)
    const isSilent = () =>
      !stream.destroyed && !inside(client).readyForQuery && bytesPassed(stream) === passed
    const until = performance.now() + limitMs - waitMs
    let answeredAt = performance.now()
    while (isSilent()) {
      const isAtWork = performance.now() < until && (await look())
      if (isAtWork) answeredAt = performance.now()
      const isLost = isAtWork === false || performance.now() - answeredAt >= patienceMs
      if (isLost && isSilent()) stream.destroy(silence())
      const restMs = Math.max(Math.min(waitMs, until - performance.now()), 0)
      await sleep(restMs, undefined, { ref: false })
    }
  })
}

const bytesPassed = ({ bytesRead, bytesWritten }: Socket) => bytesRead + bytesWritten

/**
 * Asks, on a connection of its own, whether the server process works on a statement, or has ended one just now; undefined
 * when nobody answers.
 */
export async function isAtWork(url: string, processId: number): Promise<boolean | undefined> {
  const client = new pg.Client({
    ...{ connectionString: url, application_name: 'pricewell silence' },
    ...{ connectionTimeoutMillis: answerMs, query_timeout: answerMs },
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rowCount } = await client.query(
      `select from pg_stat_activity where pid = $1
       and (coalesce(state, '') not like 'idle%' or state_change > clock_timestamp() - interval '2 seconds')`,
      [processId],
    )
    return rowCount === 1
  } catch (error) {
    return isAnswer(error) || undefined
  } finally {
    inside(client).connection.stream.destroy()
  }
}

/** A server that refuses the connection, as one that has too many, is there; one that starts up has ended all its work. */
function isAnswer(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? ''
  return error instanceof pg.DatabaseError ? code !== '57P03' : ownFailures.has(code)
}
