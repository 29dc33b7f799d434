import type { PgBoss } from 'pg-boss'
import type { components, operations } from '../../generated/openapi.d.ts'
import type { Limits } from '../config.ts'
import type { AccountSelect, TextRow } from '../database/account-select.ts'
import type { Trx } from '../database/pool.ts'
import type { RowErrors } from './row-errors.ts'

export type Schemas = components['schemas']
export type OperationId = keyof operations
/** What a token may allow. */
export type Scope = Schemas['Scope']

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined
type Responses<Id extends OperationId> = operations[Id]['responses']
/** The body of a successful response. */
export type Success<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: Status extends 200 | 201 | 202 | 204
    ? Json<Responses<Id>[Status]>
    : never
}[keyof Responses<Id>]

/** Who changes something, by which request, and why. */
export interface Origin {
  actor: Schemas['Actor']
  request_id: string
  note?: string
  /** Why the guardrails are overridden. */
  override?: string
}

/** The input of a handler: the request after authentication, parsing and validation against the contract. */
export interface OperationRequest<Id extends OperationId> {
  /** The tenant, from the token. */
  account: number
  body: operations[Id] extends { requestBody: infer Body } ? Json<Body> : undefined
  query: Defined<operations[Id]['parameters']['query']>
  params: Defined<operations[Id]['parameters']['path']>
  origin: Origin
  /** The token's scopes, including implied ones. */
  scopes: ReadonlySet<string>
  ifMatch: string | undefined
  /** Whether the client prefers that a job does the work: `Prefer: respond-async`. */
  prefersJob: boolean
  /** Runs `work` in a transaction that sees and changes only the account's rows. */
  inAccount: InAccount
  /** For a response sent while it is read: a transaction of one snapshot, on a connection reserved for that. */
  inAccountSending: InAccount
  /** Runs one prepared SELECT, which sees only the account's rows, in one round trip. */
  selectInAccount: (select: AccountSelect, values: (string | number)[]) => Promise<TextRow[]>
  /** Errors of rows that do not match the contract; the handler adds its own and calls `reject()` before it writes. */
  errors: RowErrors
  /** The rows of the body, for an operation that upserts them slice by slice and has neither `body` nor `errors`. */
  slices: RowSlices
}

/** Some rows of a payload, and the errors of rows that do not match the contract. */
export interface RowSlice {
  rows: readonly unknown[]
  errors: RowErrors
}

/** The rows of a body, validated slice by slice. */
export interface RowSlices {
  /** The size of a body of several slices; 0 for a body of one. */
  readonly bytes: number
  /** The errors of a body of one slice. */
  readonly errors: RowErrors
  /** May be called again. Each slice keeps its first `left()` errors. */
  read(left: () => number): AsyncIterable<RowSlice>
}

/** The contract: "Work on more than 100 products runs in the background". */
export const backgroundThreshold = 100

/** Above this many cells, a job sets, undoes or plans them. */
export const cellsAtOnceMax = 100_000

export type InAccount = <T>(work: (trx: Trx) => Promise<T>) => Promise<T>

type Defined<T> = Exclude<T, undefined>

/** What handlers share besides the request. */
export interface Context {
  boss: PgBoss
  limits: Limits
  /** How long the history of price lists and promotions is kept. */
  historyDays: number
  jwtSecret: Uint8Array
  /** Aborted at shutdown, to end responses that would go on. */
  stopping: AbortSignal
}

/** A result with response headers. */
export class Answer<T> {
  readonly body: T
  readonly headers: Record<string, string>
  /** Fields of the body that are sent only once: a response kept for an Idempotency-Key lacks them. */
  readonly secrets: Partial<T> | undefined

  constructor(body: T, headers: Record<string, string>, secrets?: Partial<T>) {
    this.body = body
    this.headers = headers
    this.secrets = secrets
  }
}

/** A result that is JSON text already, because its rows never become objects. */
export class JsonText {
  readonly text: string
  /** The number of rows, if it has rows. */
  readonly rows: number | undefined

  constructor(text: string, rows?: number) {
    this.text = text
    this.rows = rows
  }
}

/**
 * A result that is sent piece by piece, as fast as the client reads. `open` starts the pieces; its signal is aborted
 * when the client disconnects.
 */
export class Stream {
  readonly contentType: string
  readonly open: (gone: AbortSignal) => AsyncIterable<string>
  /** The number of rows, if it has rows; the number sent so far if they are counted on the way. */
  rows: number | undefined
  /** Bytes held in memory before they are sent. */
  readonly heldBytes: number

  constructor(
    contentType: string,
    open: (gone: AbortSignal) => AsyncIterable<string>,
    rows?: number,
    heldBytes = 0,
  ) {
    this.contentType = contentType
    this.open = open
    this.rows = rows
    this.heldBytes = heldBytes
  }
}

type Result<Id extends OperationId> =
  | Success<Id>
  | Answer<Success<Id> | JsonText | Stream>
  | JsonText
  | Stream

/** Implements an operation of the contract: from input to result; failures are thrown as Problems. */
export type Handler<Id extends OperationId> = (
  request: OperationRequest<Id>,
  context: Context,
) => Promise<Result<Id>>

/** The work of an operation in a transaction. */
export type Work<Id extends OperationId> = (
  trx: Trx,
  request: OperationRequest<Id>,
  context: Context,
) => Promise<Result<Id>>

/** The handler of an operation whose work is one transaction that sees and changes only the account's rows. */
export const transaction =
  <Id extends OperationId>(work: Work<Id>): Handler<Id> =>
  (request, context) =>
    request.inAccount((trx) => work(trx, request, context))
