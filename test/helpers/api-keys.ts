import type { TestResponse } from './conformant.ts'
import type { TestAccount } from './service.ts'

export const keysPath = '/api/v1/api_keys/'

let keys = 0

/** A new API key of the account, `read` unless `fields` say otherwise. */
export async function anApiKey(
  account: TestAccount,
  fields: object = {},
): Promise<{ id: number; name: string; key: string; expires_at: string }> {
  const { status, body } = await account.post(keysPath, {
    name: `key ${++keys}`,
    scopes: ['read'],
    ...fields,
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}

/** The account as a program with this key sees it. */
export function withKey(account: TestAccount, key: string): TestAccount {
  const send: TestAccount['send'] = (method, path, body, headers) =>
    account.send(method, path, body, { authorization: `jwt ${key}`, ...headers })
  return {
    ...account,
    token: key,
    send,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
  }
}

/** The keys as an account lists them. */
export async function listedKeys(account: TestAccount): Promise<TestResponse['body'][]> {
  return (await account.get(`${keysPath}?limit=1000`)).body.results
}
