import { sql } from 'kysely'
import { Answer, type Schemas, transaction } from '../../contract/operation.ts'
import { Problem, unauthorized } from '../../contract/problem.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import { AccountMissing } from '../../database/errors.ts'
import type { Trx } from '../../database/pool.ts'
import { utcTimestamp } from '../../lib/formats.ts'
import { faultsOfScopes, rejectMissingScopes } from '../given-scopes.ts'
import { lockAccount } from '../queries.ts'
import { keyIdOf, signKey } from './key-token.ts'

type Input = Schemas['ApiKeyInput']

const liveMax = 100
const years = { usual: 1, most: 5 }

/**
 * Creates an API key, which only this response contains. It allows no more than the token that creates it and, if that
 * is an API key, lasts no longer.
 */
export const createApiKey = transaction<'createApiKey'>(
  async (trx, { account, body, scopes, origin }, { jwtSecret }) => {
    const expires_at = readEnd(body, await findMakersEnd(trx, account, origin.actor))
    rejectMissingScopes(body.scopes, scopes)
    await rejectTaken(trx, account, body.name)
    const key = await insertKey(trx, account, { ...body, expires_at })
    const secrets = { key: await signKey(jwtSecret, { account, ...key }) }
    const dates = {
      created_at: key.created_at.toISOString(),
      expires_at: key.expires_at.toISOString(),
    }
    return new Answer<Schemas['ApiKeyCreated']>({ ...key, ...dates }, {}, secrets)
  },
)

/**
 * When the API key that creates this one expires; undefined for a user. Throws `unauthorized` if it has just been
 * revoked.
 */
async function findMakersEnd(
  trx: Trx,
  account: number,
  { type, id }: Schemas['Actor'],
): Promise<Date | undefined> {
  if (type !== 'api_key') return undefined
  const maker = await trx
    .selectFrom('api_keys')
    .select('expires_at')
    .where('account_id', '=', account)
    .where('id', '=', keyIdOf(id) ?? 0)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (!maker) throw unauthorized('The API key was revoked.')
  return maker.expires_at
}

/** Throws `invalid-request` for an end out of range, and for scopes that allow nothing. */
function readEnd({ scopes, expires_at }: Input, makersEnd: Date | undefined): Date {
  const faults = faultsOfScopes(scopes)
  const usual = inYears(years.usual)
  const earlier = makersEnd && makersEnd < usual ? makersEnd : usual
  const end = expires_at === undefined ? earlier : new Date(utcTimestamp(expires_at))
  // The `exp` of its token has whole seconds.
  end.setMilliseconds(0)
  const message = faultOfEnd(end, makersEnd)
  if (message) faults.push({ pointer: '/expires_at', code: 'range', message })
  if (faults.length > 0) throw invalidRequest(faults)
  return end
}

function faultOfEnd(end: Date, makersEnd: Date | undefined): string | undefined {
  if (end <= new Date()) return 'must be in the future'
  if (end > inYears(years.most)) return `must be within ${years.most} years`
  return makersEnd && end > makersEnd
    ? `must not be after ${makersEnd.toISOString()}, when the key that makes this one ends`
    : undefined
}

function inYears(count: number): Date {
  const day = new Date()
  day.setUTCFullYear(day.getUTCFullYear() + count)
  return day
}

/** Throws `api-key-name-taken` and `too-many-api-keys`. Waits for other requests that create a key of the account. */
async function rejectTaken(trx: Trx, account: number, name: string): Promise<void> {
  if (!(await lockAccount(trx, account))) throw new AccountMissing()
  const live = await trx
    .selectFrom('api_keys')
    .select('name')
    .where('account_id', '=', account)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`statement_timestamp()`)
    .execute()
  if (live.some((key) => key.name === name)) {
    const detail = `There is an API key called "${name}" already. Revoke it, or take another name.`
    throw new Problem('api-key-name-taken', detail)
  }
  if (live.length >= liveMax) {
    const detail = `An account has at most ${liveMax} API keys that are neither revoked nor expired. Revoke some first.`
    throw new Problem('too-many-api-keys', detail)
  }
}

function insertKey(
  trx: Trx,
  account_id: number,
  { name, scopes, expires_at }: { name: string; scopes: Schemas['Scope'][]; expires_at: Date },
) {
  return trx
    .insertInto('api_keys')
    .values({ account_id, name, scopes, expires_at })
    .returning([
      'id',
      'name',
      sql<Schemas['Scope'][]>`scopes`.as('scopes'),
      'created_at',
      'expires_at',
    ])
    .executeTakeFirstOrThrow()
}
