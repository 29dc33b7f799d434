import { Problem } from '../contract/problem.ts'

const windowMs = 60_000
const failuresMax = 10
/** Bounds the memory that someone who tries many e-mails can take. */
const emailsMax = 10_000

const failures = new Map<string, { count: number; until: number }>()

const turns = new Map<string, Promise<unknown>>()

/**
 * Runs the login attempts for one e-mail one after the other, so that many at once do not pass the limit. Throws
 * `too-many-requests` once it is reached.
 */
export async function inTurn<T>(email: string, attempt: () => Promise<T>): Promise<T> {
  const earlier = turns.get(email)
  const run = async () => {
    await earlier?.catch(() => undefined)
    rejectTooMany(email)
    return attempt()
  }
  const turn = run()
  turns.set(email, turn)
  try {
    return await turn
  } finally {
    if (turns.get(email) === turn) turns.delete(email)
  }
}

/** Throws `too-many-requests` after 10 failed logins for one e-mail within a minute. */
function rejectTooMany(email: string): void {
  const entry = failures.get(email)
  if (!entry || entry.until <= performance.now() || entry.count < failuresMax) return
  const seconds = Math.ceil((entry.until - performance.now()) / 1000)
  throw new Problem(
    'too-many-requests',
    `Too many failed logins for this e-mail; try again in ${seconds} s.`,
    {
      headers: { 'retry-after': String(seconds) },
    },
  )
}

/** Notes a failed login. */
export function countFailure(email: string): void {
  const now = performance.now()
  const entry = failures.get(email)
  if (entry && entry.until > now) entry.count++
  else {
    if (failures.size >= emailsMax) failures.delete(failures.keys().next().value as string)
    failures.set(email, { count: 1, until: now + windowMs })
  }
}
