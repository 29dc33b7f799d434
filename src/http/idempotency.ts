import { createHash, createHmac } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { isWritingPost, type Operation } from '../contract/document.ts'
import { Answer, type InAccount, JsonText } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'

/** What an Idempotency-Key is bound to. The same key from another account or subject is a different key. */
interface IdempotentRequest {
  account: number
  subject: string
  key: string
  /** Includes the query, which has options and, for a file, its list. */
  path: string
  /**
   * Distinguishes bodies without revealing them, because a body may hold a password. For a file, reads the rest of it.
   */
  bodyHash: () => Promise<Buffer>
}

/** SHA-256 of a body. */
export function hashBody(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest()
}

/** `inAccount` that also stores the response to a writing POST with an Idempotency-Key, in the same transaction. */
export function storing(
  bound: InAccount,
  operation: Operation,
  request: FastifyRequest,
  { secret, hash }: { secret: Uint8Array; hash: () => Promise<Buffer> },
): InAccount {
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string' || !isWritingPost(operation)) return bound
  const { account = 0, subject = '', type } = request.caller ?? {}
  const bodyHash = async () =>
    createHmac('sha256', secret)
      .update(await hash())
      .digest()
  // An identity provider could give its users the subjects of our keys.
  const sender = type === 'external' ? `external:${subject}` : subject
  return storingAnswer(bound, { account, subject: sender, key, path: pathOf(request), bodyHash })
}

/** The path without its trailing slash, and the query with its parameters sorted. */
function pathOf({ url, query }: FastifyRequest): string {
  const path = url.replace(/[?#].*$/s, '').replace(/\/$/, '')
  const parameters = new URLSearchParams(query as Record<string, string>)
  parameters.sort()
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

/**
 * `inAccount` that stores the response, without its secrets, in the transaction that does the work, and replays it when
 * the request is repeated. A failed request stores nothing, so its key can be tried again. Throws
 * `idempotency-key-in-use` while the first request runs and `idempotency-key-reused` for another path, query or body.
 */
function storingAnswer(inAccount: InAccount, request: IdempotentRequest): InAccount {
  return <T>(work: (trx: Trx) => Promise<T>) =>
    inAccount(async (trx): Promise<T> => {
      await lockKey(trx, request)
      const stored = await findAnswer(trx, request)
      if (stored) return stored as T
      const result = await work(trx)
      const { body, headers, secrets } = result instanceof Answer ? result : new Answer(result, {})
      const text = body instanceof JsonText ? body.text : (JSON.stringify(body) ?? '')
      await storeAnswer(trx, request, headers, text)
      if (secrets) return result
      return new Answer(new JsonText(text), headers) as T
    })
}

async function lockKey(trx: Trx, { account, subject, key }: IdempotentRequest): Promise<void> {
  const name = JSON.stringify(['idempotency', account, subject, key])
  // All advisory locks share one number space; with a weak hash, clients could compute a key that collides with any
  // lock.
  const lock = createHash('sha256').update(name).digest().readBigInt64BE()
  const { locked } = await onlyRow<{ locked: boolean }>(trx)`
    select pg_try_advisory_xact_lock(${lock}) as locked`
  if (locked) return
  const detail = 'A request with this Idempotency-Key is running; send it again for its answer.'
  throw new Problem('idempotency-key-in-use', detail, { headers: { 'retry-after': '1' } })
}

async function findAnswer(
  trx: Trx,
  request: IdempotentRequest,
): Promise<Answer<JsonText> | undefined> {
  const stored = await trx
    .selectFrom('idempotency_keys')
    .select(['path', 'body_hash', 'headers', 'body'])
    .where('account_id', '=', request.account)
    .where('subject', '=', request.subject)
    .where('key', '=', request.key)
    .where('created_at', '>=', sql<Date>`now() - interval '24 hours'`)
    .executeTakeFirst()
  if (!stored) return undefined
  if (stored.path !== request.path || !(await request.bodyHash()).equals(stored.body_hash)) {
    const detail =
      'This Idempotency-Key was sent with another path, query or body within 24 hours; take a new one.'
    throw new Problem('idempotency-key-reused', detail)
  }
  const headers = stored.headers as Record<string, string>
  return new Answer(new JsonText(stored.body), { ...headers, 'idempotent-replayed': 'true' })
}

/** Replaces an expired response under the same key. */
async function storeAnswer(
  trx: Trx,
  { account, subject, key, path, bodyHash }: IdempotentRequest,
  headers: Record<string, string>,
  body: string,
): Promise<void> {
  await trx
    .insertInto('idempotency_keys')
    .values({
      account_id: account,
      subject,
      key,
      path,
      body,
      body_hash: await bodyHash(),
      headers: JSON.stringify(headers),
      // Not now(): the transaction of a file may be an hour old.
      created_at: sql`clock_timestamp()`,
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'subject', 'key']).doUpdateSet(({ ref }) => ({
        path: ref('excluded.path'),
        body: ref('excluded.body'),
        body_hash: ref('excluded.body_hash'),
        headers: ref('excluded.headers'),
        created_at: ref('excluded.created_at'),
      })),
    )
    .execute()
}
