import { UsageFault } from '../faults.ts'
import { answer, type Program } from '../program.ts'
import { openPrompt } from '../prompt.ts'
import { forgetLogin, logIn, loginFile, serviceUrl } from '../session.ts'

export function addLogin(program: Program): void {
  program
    .command('login')
    .description(
      'Gets a token, valid for 24 hours, and saves it (not the password) for the other commands.',
    )
    .option('--email <email>', 'else PRICEWELL_EMAIL, or it is asked for')
    .option(
      '--password <password>',
      'visible in process lists; else PRICEWELL_PASSWORD, or it is asked for',
    )
    .addHelpText(
      'after',
      `
Anything missing is asked for, or read from standard input, one per line.

Examples:
  pricewell login --url https://prices.example.com
  pricewell login --email ana@acme.example < password.txt`,
    )
    .action(async (options) => {
      const url = serviceUrl()
      const credentials = await readCredentials(options)
      await logIn(url, credentials)
      const { email } = credentials
      answer({ url, email }, `Logged in at ${url} as ${email}; saved in ${loginFile()}.`)
    })
}

export function addLogout(program: Program): void {
  program
    .command('logout')
    .description('Forgets the login. Its token expires within a day.')
    .addHelpText('after', '\nExample:\n  pricewell logout')
    .action(() => {
      const login = forgetLogin()
      const told = login ? `Logged out at ${login.url}.` : 'There is no login.'
      answer({ url: login?.url ?? null }, told)
    })
}

async function readCredentials(given: {
  email?: string | undefined
  password?: string | undefined
}): Promise<{ email: string; password: string }> {
  const { PRICEWELL_EMAIL, PRICEWELL_PASSWORD } = process.env
  const known = {
    email: given.email ?? PRICEWELL_EMAIL,
    password: given.password ?? PRICEWELL_PASSWORD,
  }
  // A prompt would consume standard input, which may be meant for another program.
  if (known.email && known.password) return { email: known.email, password: known.password }
  const prompt = openPrompt()
  try {
    const email = given.email ?? (known.email || (await prompt.ask('E-mail: ')))
    const password = given.password ?? (known.password || (await prompt.askSecret('Password: ')))
    if (email && password) return { email, password }
    throw new UsageFault(`The ${email ? 'password' : 'e-mail'} is missing.`)
  } finally {
    prompt.close()
  }
}
