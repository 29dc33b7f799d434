import { overloaded, type Problem, tooManyRequests } from '../contract/problem.ts'

const windowMs = 60_000
const failuresMax = 10
/** Bounds the memory that a client can take by trying many e-mails. */
const emailsMax = 10_000

/** Failed logins by e-mail. */
const failures = new Map<string, { count: number; until: number }>()

/** The latest login for each e-mail, which the next one waits for. */
const lastLogins = new Map<string, Promise<unknown>>()

/**
 * Runs a login on one of two seats. Logins for one e-mail run one after the other, so that parallel ones cannot pass
 * the limit. Throws `overloaded` if too many wait, `too-many-requests` after 10 failures for the e-mail within a
 * minute.
 */
export function withinLoginLimits<T>(email: string, login: () => Promise<T>): Promise<T> {
  return onPasswordSeat(() => afterEarlier(email, login))
}

/** Runs work that checks or hashes a password on one of two seats. Throws `overloaded` if too many wait. */
export async function onPasswordSeat<T>(work: () => Promise<T>): Promise<T> {
  await takeSeat()
  try {
    return await work()
  } finally {
    passSeatOn()
  }
}

async function afterEarlier<T>(email: string, login: () => Promise<T>): Promise<T> {
  const earlier = lastLogins.get(email)
  const run = async () => {
    await earlier?.catch(() => undefined)
    rejectTooMany(email)
    return login()
  }
  const last = run()
  lastLogins.set(email, last)
  try {
    return await last
  } finally {
    if (lastLogins.get(email) === last) lastLogins.delete(email)
  }
}

function rejectTooMany(email: string): void {
  const entry = failures.get(email)
  if (!entry || entry.until <= performance.now() || entry.count < failuresMax) return
  const seconds = Math.ceil((entry.until - performance.now()) / 1000)
  throw tooManyRequests(`Too many wrong passwords; try again in ${seconds} s.`, seconds)
}

/** Counts a failed login toward the limit of its e-mail. */
export function countFailure(email: string): void {
  const now = performance.now()
  const entry = failures.get(email)
  if (entry && entry.until > now) entry.count++
  else {
    if (failures.size >= emailsMax) failures.delete(failures.keys().next().value as string)
    failures.set(email, { count: 1, until: now + windowMs })
  }
}

/**
 * Concurrent logins. A password check takes 64 MB and one of Node's four threads, which also verify tokens and
 * decompress files: beside 60 checks, a read with a new token waited for 18 seconds.
 */
const seatsMax = 2
/** About as many as two seats finish within the longest wait. */
const waitingMax = 32
const waitMs = 2500

let running = 0
const waiting = new Set<() => void>()

async function takeSeat(): Promise<void> {
  if (running < seatsMax) running++
  else await waitForSeat()
}

/** The next login takes over the seat, so `running` stays the same. */
function passSeatOn(): void {
  const [next] = waiting
  if (next) next()
  else running--
}

function waitForSeat(): Promise<void> {
  if (waiting.size >= waitingMax) throw tooManyLogins()
  return new Promise((resolve, reject) => {
    const start = () => {
      leave()
      resolve()
    }
    const timer = setTimeout(() => {
      leave()
      reject(tooManyLogins())
    }, waitMs)
    const leave = () => {
      clearTimeout(timer)
      waiting.delete(start)
    }
    waiting.add(start)
  })
}

function tooManyLogins(): Problem {
  return overloaded('Too many logins at the same time.', Math.ceil(waitMs / 1000))
}
