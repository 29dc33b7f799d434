import { type ClientOptions, createClient, type PricewellClient } from '../client/index.ts'
import { howToLogIn, NotLoggedIn, UsageFault } from './faults.ts'
import { readLogin } from './saved-login.ts'

const localUrl = 'http://127.0.0.1:3000'

/** The service to talk to: `--url`, PRICEWELL_URL, the one of the last login, or the one on this machine. */
export function serviceUrl(given?: string): string {
  const text = given ?? (process.env.PRICEWELL_URL || readLogin()?.url || localUrl)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== url.origin + url.pathname)
    throw new UsageFault(`"${text}" is no address of a service, like ${localUrl}`)
  return url.href.replace(/\/+$/, '')
}

/** A client in the name of PRICEWELL_TOKEN, of PRICEWELL_EMAIL and PRICEWELL_PASSWORD, or of the login at this service. */
export function openClient(
  { url }: { url?: string | undefined },
  settings: Pick<ClientOptions, 'retries' | 'fetch'> = {},
): PricewellClient {
  const baseUrl = serviceUrl(url)
  return createClient({ baseUrl, ...identity(baseUrl), ...settings })
}

/** A saved token goes only to the service that gave it. */
export function identity(baseUrl: string): Pick<ClientOptions, 'token' | 'credentials'> {
  const { PRICEWELL_TOKEN: token, PRICEWELL_EMAIL, PRICEWELL_PASSWORD } = process.env
  if (token) return { token }
  if (PRICEWELL_EMAIL && PRICEWELL_PASSWORD)
    return { credentials: { email: PRICEWELL_EMAIL, password: PRICEWELL_PASSWORD } }
  const login = readLogin()
  if (login?.url === baseUrl) return { token: login.token }
  throw new NotLoggedIn(`There is no login at ${baseUrl}. ${howToLogIn}`)
}
