import type { PgBoss } from 'pg-boss'
import type { components, operations } from '../../generated/openapi.d.ts'
import type { Limits } from '../config.ts'
import type { Trx } from '../database/pool.ts'
import type { RowErrors } from './row-errors.ts'

export type Schemas = components['schemas']
export type OperationId = keyof operations

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined
type Responses<Id extends OperationId> = operations[Id]['responses']
type Success<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: Status extends 200 | 201 | 204
    ? Json<Responses<Id>[Status]>
    : never
}[keyof Responses<Id>]

/** What a handler gets: the request after authentication, parsing and validation against the contract. */
export interface OperationRequest<Id extends OperationId> {
  /** The tenant, from the token. */
  account: number
  body: operations[Id] extends { requestBody: infer Body } ? Json<Body> : undefined
  query: Defined<operations[Id]['parameters']['query']>
  params: Defined<operations[Id]['parameters']['path']>
  /** The If-Match header: which states of the thing may be changed. */
  ifMatch: string | undefined
  /** Runs `work` in one transaction that sees and changes the account's rows only; its result is the answer. */
  inAccount: InAccount
  /** For an answer that is sent while it is read: one transaction that sees one moment, on a connection kept for such. */
  inAccountSending: InAccount
  /** Rows whose shape is wrong; the handler adds its own findings and calls `reject()` before it writes. */
  errors: RowErrors
}

/** The contract: "Work on more than 100 products runs in the background". */
export const backgroundThreshold = 100

export type InAccount = <T>(work: (trx: Trx) => Promise<T>) => Promise<T>

type Defined<T> = Exclude<T, undefined>

/** What a handler works with. */
export interface Context {
  boss: PgBoss
  limits: Limits
  jwtSecret: Uint8Array
  /** Aborted when the process is to stop: answers that would go on come to their end. */
  stopping: AbortSignal
}

/** A result that carries response headers. */
export class Answer<T> {
  readonly body: T
  readonly headers: Record<string, string>

  constructor(body: T, headers: Record<string, string>) {
    this.body = body
    this.headers = headers
  }
}

/** A result that is JSON text already: rows are written as they are found, not made objects first. */
export class JsonText {
  readonly text: string
  /** How many rows it has, where it is rows. */
  readonly rows: number | undefined

  constructor(text: string, rows?: number) {
    this.text = text
    this.rows = rows
  }
}

/**
 * A result that is sent piece by piece, as fast as the client takes it. `open` starts the pieces; its signal says that
 * the client is gone, for pieces that are waited for. `contentType` is the contract's.
 */
export class Stream {
  readonly contentType: string
  readonly open: (gone: AbortSignal) => AsyncIterable<string>
  /** How many rows it has, where it is rows; of those that are counted as they are sent, so far. */
  rows: number | undefined
  /** How much of it is in memory before it is sent. */
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

/** Implements one operation of the contract: from input to result, failures thrown as Problems. */
export type Handler<Id extends OperationId> = (
  request: OperationRequest<Id>,
  context: Context,
) => Promise<Success<Id> | Answer<Success<Id> | Stream> | JsonText | Stream>
