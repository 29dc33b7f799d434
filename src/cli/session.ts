import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ClientOptions, createClient, type PricewellClient, Problem } from '../client/index.ts'
import { howToLogIn, NotLoggedIn, UsageFault, WrongPassword } from './faults.ts'
import { program } from './program.ts'

const localUrl = 'http://127.0.0.1:3000'

/** The address of the service: `--url`, PRICEWELL_URL, that of the last login, or this machine. Throws `UsageFault`. */
export function serviceUrl(): string {
  const text = program.opts().url ?? (process.env.PRICEWELL_URL || readLogin()?.url || localUrl)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== url.origin + url.pathname)
    throw new UsageFault(`"${text}" is not a service address, such as ${localUrl}`)
  return url.href.replace(/\/+$/, '')
}

/**
 * A client with PRICEWELL_API_KEY, PRICEWELL_TOKEN, PRICEWELL_EMAIL and PRICEWELL_PASSWORD, or the saved login. Throws
 * `NotLoggedIn` without any of them.
 */
export function openClient(
  settings: Pick<ClientOptions, 'retries' | 'fetch'> = {},
): PricewellClient {
  const baseUrl = serviceUrl()
  return createClient({ baseUrl, ...identity(baseUrl), ...settings })
}

/** The credentials for the service. A saved token is sent only to the service that issued it. Throws `NotLoggedIn`. */
export function identity(baseUrl: string): Pick<ClientOptions, 'token' | 'credentials'> {
  const { PRICEWELL_API_KEY, PRICEWELL_TOKEN, PRICEWELL_EMAIL, PRICEWELL_PASSWORD } = process.env
  const token = PRICEWELL_API_KEY || PRICEWELL_TOKEN
  if (token) return { token: headerText(token) }
  if (PRICEWELL_EMAIL && PRICEWELL_PASSWORD)
    return { credentials: { email: PRICEWELL_EMAIL, password: PRICEWELL_PASSWORD } }
  const login = readLogin()
  if (login?.url === baseUrl) return { token: login.token }
  throw new NotLoggedIn(`There is no login at ${baseUrl}. ${howToLogIn}`)
}

/** Throws `NotLoggedIn` for a key or token that no header can hold, without showing it. */
function headerText(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  const name = process.env.PRICEWELL_API_KEY ? 'PRICEWELL_API_KEY' : 'PRICEWELL_TOKEN'
  throw new NotLoggedIn(`${name} has characters that no key has, such as a space or a line break.`)
}

/** What `pricewell login` saves: never the password. */
interface Login {
  url: string
  email: string
  token: string
}

/** The file of the saved login; XDG_CONFIG_HOME moves it. */
export function loginFile(): string {
  const config = process.env.XDG_CONFIG_HOME || join(homedir(), '.config')
  return join(config, 'pricewell', 'login.json')
}

/** The saved login; undefined if it is missing or unreadable. */
export function readLogin(): Login | undefined {
  try {
    const { url, email, token } = JSON.parse(readFileSync(loginFile(), 'utf8'))
    return url && email && token ? { url, email, token } : undefined
  } catch {
    return undefined
  }
}

/** Logs in and saves the token. Throws WrongPassword. */
export async function logIn(
  url: string,
  credentials: { email: string; password: string },
): Promise<void> {
  const { POST } = createClient({ baseUrl: url, token: '', retries: 1 })
  const { data } = await POST('/login/', { body: credentials }).catch((error) => {
    throw error instanceof Problem && error.status === 401 ? new WrongPassword(error) : error
  })
  saveLogin({ url, email: credentials.email, token: data.token })
}

/** Removes the saved login and returns it. */
export function forgetLogin(): Login | undefined {
  const login = readLogin()
  rmSync(loginFile(), { force: true })
  return login
}

/** Saves a login in a new file that only the user can read. */
function saveLogin(login: Login): void {
  try {
    const file = loginFile()
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const fresh = `${file}.${process.pid}`
    writeFileSync(fresh, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    renameSync(fresh, file)
  } catch (error) {
    throw new UsageFault(`The login cannot be saved: ${(error as Error).message}. ${elsewhere}`)
  }
}

const elsewhere =
  'Set XDG_CONFIG_HOME to a writable folder, or PRICEWELL_EMAIL and PRICEWELL_PASSWORD instead of a login.'
