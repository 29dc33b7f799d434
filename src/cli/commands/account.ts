import { InvalidArgumentError } from '@commander-js/extra-typings'
import { createClient, Problem } from '../../client/index.ts'
import { answer, type Program } from '../program.ts'
import { identity, readLogin, serviceUrl } from '../session.ts'

/** `pricewell account` and `pricewell account create`. */
export function addAccount(program: Program): void {
  const account = program
    .command('account')
    .description('Shows who you are to the service, and checks that your login is still valid.')
    .addHelpText('after', '\nExample:\n  pricewell account')
    .action(async () => {
      const me = await whoAmI(serviceUrl())
      const lines = Object.entries(me).map(([name, value]) => `${name.padEnd(10)} ${value}`)
      answer(me, lines.join('\n'))
    })
  account
    .command('create')
    .description(
      "Creates a user, and the account if there is none by that name, on the service's machine.",
    )
    .requiredOption('--account <name>', 'the account', (text) => ofLength(text, 1, 255))
    .requiredOption('--email <email>', 'the user, who logs in with it', email)
    .option('--password <password>', 'else generated', (text) => ofLength(text, 8, 255))
    .option('--init', 'create the embedded database if DATA_DIR holds none')
    .addHelpText(
      'after',
      `
Works on the embedded database (DATA_DIR) or that of DATABASE_URL, whether or not the service is running. If
DATA_DIR holds no database, it is probably the wrong folder, and nothing is created there without --init.

Example:
  pricewell account create --account ACME --email ana@acme.example`,
    )
    .action(async ({ account, email, password, init }) => {
      const { createAccountHere } = await import('../database-here.ts')
      const wanted = { account, email, ...(password && { password }), ...(init && { init }) }
      const user = await createAccountHere(wanted)
      const names = `Account   ${user.account}\nid        ${user.account_id}\ne-mail    ${user.email}`
      const lines = `${names}\npassword  ${user.password}`
      answer(user, password ? lines : `${lines}  (shown only once)`)
    })
}

/** The claims of the token, once the service has accepted it. */
async function whoAmI(url: string) {
  const { token: given, credentials } = identity(url)
  const open = createClient({ baseUrl: url, token: '', retries: 1 })
  const token = credentials ? (await open.POST('/login/', { body: credentials })).data.token : given
  const me = createClient({ baseUrl: url, token, retries: 1 })
  await me.GET('/api/v1/jobs/', { params: { query: { limit: 1 } } }).catch((fault) => {
    // A token without the scope is valid, too.
    if (!(fault instanceof Problem && fault.type === 'forbidden')) throw fault
  })
  const [, payload = ''] = String(token).split('.')
  const { account, sub, scope, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const saved = readLogin()
  const email = credentials?.email ?? (saved?.token === token ? saved?.email : undefined)
  const expires = new Date(exp * 1000).toISOString()
  return { service: url, ...(email && { email }), account, user: sub, scope, expires }
}

function email(text: string): string {
  if (!/^[^\s@]+@[^\s@]+$/.test(text) || text.length > 255)
    throw new InvalidArgumentError('Must be an e-mail address.')
  return text
}

function ofLength(text: string, min: number, max: number): string {
  if (text.length < min || text.length > max)
    throw new InvalidArgumentError(`Must be ${min} to ${max} characters.`)
  return text
}
