import { Problem } from '../contract/problem.ts'

const windowMs = 60_000
const failuresMax = 10
/** Bounds the memory that someone who tries many e-mails can take. */
const emailsMax = 10_000

const failures = new Map<string, { count: number; until: number }>()

/** Throws `too-many-requests` after 10 failed logins for one e-mail within a minute. */
export function rejectTooMany(email: string): void {
  const entry = failures.get(email)
  if (!entry || entry.until < Date.now() || entry.count < failuresMax) return
  const seconds = Math.ceil((entry.until - Date.now()) / 1000)
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
  const now = Date.now()
  const entry = failures.get(email)
  if (entry && entry.until >= now) entry.count++
  else {
    if (failures.size >= emailsMax) failures.delete(failures.keys().next().value as string)
    failures.set(email, { count: 1, until: now + windowMs })
  }
}
