import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { createClient } from '../../client/index.ts'
import { UsageFault } from '../faults.ts'
import { answer, type Program } from '../program.ts'
import { loginFile, saveLogin, serviceUrl } from '../session.ts'

/** `pricewell login`. */
export function addLogin(program: Program): void {
  program
    .command('login')
    .description(
      'Gets a token, valid for 24 hours, and keeps it (not the password) for the other commands.',
    )
    .option('--email <email>', 'else PRICEWELL_EMAIL, or it is asked for')
    .option(
      '--password <password>',
      'seen by whoever lists processes; else PRICEWELL_PASSWORD, or it is asked for',
    )
    .addHelpText(
      'after',
      `
What is missing is asked for, or read from standard input, a line each.

Examples:
  pricewell login --url https://prices.example.com
  pricewell login --email ana@acme.example < password.txt`,
    )
    .action(async (_options, command) => {
      const options = command.optsWithGlobals()
      const url = serviceUrl(options.url)
      const credentials = await readCredentials(options)
      const { POST } = createClient({ baseUrl: url, token: '', retries: 1 })
      const { data } = await POST('/login/', { body: credentials })
      saveLogin({ url, email: credentials.email, token: data.token })
      const { email } = credentials
      answer(options, { url, email }, `Logged in at ${url} as ${email}; kept in ${loginFile()}.`)
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

/** Asks on standard error and reads lines of standard input, also without a terminal. */
export interface Prompt {
  /** Returns the answer; empty at the end of the input. */
  ask(question: string): Promise<string>
  /** As `ask`, without echo. */
  askSecret(question: string): Promise<string>
  close(): void
}

/** Starts reading standard input; `close` lets the process end. */
function openPrompt(): Prompt {
  let isSecret = false
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      if (!isSecret) process.stderr.write(chunk)
      done()
    },
  })
  const terminal = process.stdin.isTTY === true
  const lines = createInterface({ input: process.stdin, output, terminal })
  lines.on('SIGINT', () => process.exit(130))
  // The iterator keeps lines that arrive early.
  const answers = lines[Symbol.asyncIterator]()
  const ask = async (question: string) => {
    if (terminal) process.stderr.write(question)
    const { value } = await answers.next()
    return value ?? ''
  }
  const askSecret = async (question: string) => {
    isSecret = true
    const answer = await ask(question)
    isSecret = false
    if (terminal) process.stderr.write('\n')
    return answer
  }
  return { ask, askSecret, close: () => lines.close() }
}
