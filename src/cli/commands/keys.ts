import { InvalidArgumentError } from '@commander-js/extra-typings'
import type { Schemas } from '../../client/index.ts'
import { allRows } from '../all-rows.ts'
import { Failed } from '../faults.ts'
import { idShownBy } from '../option-values.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { table } from '../terminal.ts'

/** `pricewell keys`, `pricewell keys create` and `pricewell keys revoke`. */
export function addKeys(program: Program): void {
  const keys = program
    .command('keys')
    .description('Lists the API keys of the account, which programs use instead of a login.')
    .addHelpText('after', '\nExample:\n  pricewell keys')
    .action(async () => {
      const { GET } = openClient()
      const all = await allRows(
        async (query) => (await GET('/api/v1/api_keys/', { params: { query } })).data,
      )
      answer(all, table(all.map(row), 'There are no keys.'))
    })
  keys
    .command('create')
    .description('Creates an API key and shows it once.')
    .argument('<name>', 'what the key is for')
    .requiredOption('--scopes <scopes>', `what it allows: ${scopes.join(', ')}`, readScopes)
    .option('--expires <time>', 'a day, or a day and time; in a year when left out')
    .addHelpText(
      'after',
      `
write includes plan, and plan includes read. Programs send the key as PRICEWELL_API_KEY.

Example:
  pricewell keys create 'Web shop' --scopes read --expires 2027-06-30`,
    )
    .action(async (name, { scopes, expires }) => {
      const { data } = await openClient().POST('/api/v1/api_keys/', {
        body: { name, scopes, ...(expires !== undefined && { expires_at: expires }) },
      })
      if (data.key === undefined) throw new Failed(lost(data.id))
      const lines = `id       ${data.id}\nexpires  ${data.expires_at}\nkey      ${data.key}`
      answer(data, `${lines}  (shown only once)`)
    })
  keys
    .command('revoke')
    .description('Revokes an API key within 10 seconds.')
    .argument('<id>', 'the id of the key', idShownBy('pricewell keys'))
    .addHelpText('after', '\nExample:\n  pricewell keys revoke 7')
    .action(async (id) => {
      await openClient().DELETE('/api/v1/api_keys/{id}', { params: { path: { id } } })
      answer({ id }, `Key ${id} is revoked.`)
    })
}

function row({ id, name, scopes, created_at, expires_at, ...key }: Schemas['ApiKey']) {
  return {
    id,
    name,
    scopes: scopes.join(','),
    made: created_at,
    expires: expires_at,
    'last used': key.last_used_on,
    revoked: key.revoked_at,
  }
}

/** The scopes of keys and users. */
export const scopes: Schemas['Scope'][] = ['read', 'plan', 'write', 'override', 'admin']

/** Parses comma-separated scopes. Throws InvalidArgumentError. */
export function readScopes(text: string): Schemas['Scope'][] {
  const named = text.split(',').map((name) => scopes.find((scope) => scope === name.trim()))
  if (named.includes(undefined))
    throw new InvalidArgumentError(`Must be any of ${scopes.join(', ')}, separated by commas.`)
  return named.filter((scope) => scope !== undefined)
}

/** The request was retried, and a stored response holds no key. */
const lost = (id: number) =>
  `The key was created, but the response with it was lost. Revoke it (\`pricewell keys revoke ${id}\`) and create another.`
