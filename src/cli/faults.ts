import { CommanderError } from 'commander'
import { type Job, JobFailed, Problem, Unreachable } from '../client/index.ts'
import { sentence } from '../client/problem.ts'
import { firstLines, printable, red } from './terminal.ts'

/** Wrong usage, or a file that cannot be read or written; the message tells what to do. */
export class UsageFault extends Error {}

/** There are no credentials for the service, or none that it can be sent. */
export class NotLoggedIn extends Error {}

/** A login was refused; trying the same credentials again would not help. */
export class WrongPassword extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** Not all of the work was done. */
export class Failed extends Error {}

export const exitCodes = `Exit codes:
  0  done
  1  refused by the service (bad rows, conflicts, things not found), or the job failed
  2  wrong usage, or a file that cannot be read or written
  3  the service is unreachable, too busy, or still working on it
  4  not logged in, or the login does not allow this
  70 a bug in this program`

/** Writes an error to standard error, as a line of JSON if `asJson`. Returns the exit code. */
export function report(fault: unknown, asJson: boolean): number {
  const code = exitCode(fault)
  // Commander has already written it for people.
  if (fault instanceof CommanderError && (code === 0 || !asJson)) return code
  if (asJson) console.error(JSON.stringify(asObject(fault, code)))
  else console.error(code === 70 ? fault : red(printable(message(fault))))
  return code
}

function exitCode(fault: unknown): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : 2
  if (fault instanceof UsageFault) return 2
  if (fault instanceof Unreachable) return 3
  if (fault instanceof NotLoggedIn || fault instanceof WrongPassword) return 4
  if (fault instanceof JobFailed || fault instanceof Failed) return 1
  if (!(fault instanceof Problem)) return 70
  if (fault.status === 401 || fault.status === 403) return 4
  if (fault.type === 'idempotency-key-in-use') return 3
  return fault.status === 429 || fault.status >= 500 || fault.status < 400 ? 3 : 1
}

function message(fault: unknown): string {
  const isInDoubt = (fault instanceof Unreachable || fault instanceof Problem) && fault.mayHaveActed
  return isInDoubt ? `${reason(fault)} ${adviceInDoubt}` : reason(fault)
}

const adviceInDoubt =
  'It may have been done all the same: look (`pricewell log`, `plans`, `jobs`) before you run it again.'

function reason(fault: unknown): string {
  if (fault instanceof CommanderError) return wrongUse(fault)
  if (fault instanceof JobFailed)
    return [fault.message, ...stepsAfter(fault.job.errors[0]?.code)].join('\n')
  if (!(fault instanceof Problem)) return (fault as Error).message
  if (fault.type === 'about:blank')
    return `${fault.detail}\n${isOfProxy(fault) ? ofProxy : otherAddress}`
  if (fault.status === 401) return `${fault.detail} ${otherLogin()}`
  if (fault.type === 'idempotency-key-in-use') return stillRunning
  const errors = firstLines(fault.errors.map(sentence), shownMax, fault.errorCount)
  return [withoutKey(fault), ...errors, ...stepsAfter(fault.type)].join('\n')
}

/** The detail, without advice on a key that the command sends by itself. */
export const withoutKey = ({ type, detail }: Problem): string =>
  type === 'outcome-unknown'
    ? 'The connection to the database broke as this was being written.'
    : detail

const shownMax = 20

/** Commander's own message for a missing command is not a sentence. */
function wrongUse({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'Name a command.' : message.replace(/^error: /, '')
}

/** The option or command that does what the service advises. */
const nextSteps = new Map([
  [
    'no-competitor-schema',
    'Here, use `pricewell schema competitor-prices code`, plus the columns that count.',
  ],
  ['revert-conflict', 'Here, use --skip.'],
])
const stepsAfter = (type = ''): string[] => [nextSteps.get(type) ?? []].flat()
const stillRunning =
  'The service is still working on the first attempt. Run the same command again later to be sure.'
/** Statuses that a proxy sends: the body is too large for it, or the service does not respond. */
const isOfProxy = ({ status }: Problem) => [413, 502, 503, 504].includes(status)
const ofProxy =
  'This response came from something in front of the service, such as a proxy: look at its limits and its log.'
const otherAddress =
  'This is not a response from a Pricewell service: is the address right (--url)?'
export const howToLogIn = 'Log in with `pricewell login`.'

/** Advice when the credentials come from the environment, not from a saved login. */
function otherLogin(): string {
  const { PRICEWELL_API_KEY, PRICEWELL_TOKEN, PRICEWELL_EMAIL, PRICEWELL_PASSWORD } = process.env
  if (PRICEWELL_API_KEY) return 'It is the one in PRICEWELL_API_KEY.'
  if (PRICEWELL_TOKEN)
    return `It is the one in PRICEWELL_TOKEN. Set another, or none: ${howToLogIn}`
  if (PRICEWELL_EMAIL && PRICEWELL_PASSWORD)
    return 'They are the ones in PRICEWELL_EMAIL and PRICEWELL_PASSWORD.'
  return howToLogIn
}

/** The problem that a request would have had in place of the job; undefined if the job failed otherwise. */
export function problemOf({ errors, progress: { error: count } }: Job): Problem | undefined {
  const rows = errors.flatMap(({ pointer, ...error }) =>
    pointer === undefined ? [] : { ...error, pointer },
  )
  // The problem itself, such as `guardrail-violated` or `plan-stale`, comes before its rows.
  const whole = errors.find(({ pointer }) => pointer === undefined)
  if (rows.length === 0 && whole?.code !== 'payload-too-large') return undefined
  return new Problem({
    type: (whole?.code ?? 'invalid-request') as Problem['type'],
    title: 'The job was refused',
    status: whole ? (statuses[whole.code] ?? 409) : 400,
    instance: '',
    error_count: count,
    detail: whole?.message ?? `${count} ${count === 1 ? 'error' : 'errors'}. Nothing was written.`,
    errors: rows as Problem['errors'],
  })
}

const statuses: Record<string, number> = { 'payload-too-large': 413, 'guardrail-violated': 422 }

function asObject(fault: unknown, code: number): object {
  if (fault instanceof JobFailed) return { exit_code: code, message: fault.message, job: fault.job }
  if (fault instanceof WrongPassword) return asObject(fault.problem, code)
  if (!(fault instanceof Problem)) return { exit_code: code, message: message(fault) }
  const { type, title, status, detail, instance, errors, errorCount } = fault
  return { exit_code: code, type, title, status, detail, instance, error_count: errorCount, errors }
}
