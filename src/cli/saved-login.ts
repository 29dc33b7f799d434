import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageFault } from './faults.ts'

/** What `pricewell login` keeps: never the password. */
export interface Login {
  url: string
  email: string
  token: string
}

/** Where the login is kept; XDG_CONFIG_HOME moves it. */
export function loginFile(): string {
  const config = process.env.XDG_CONFIG_HOME || join(homedir(), '.config')
  return join(config, 'pricewell', 'login.json')
}

/** The login that was saved last, if any. */
export function readLogin(): Login | undefined {
  try {
    const { url, email, token } = JSON.parse(readFileSync(loginFile(), 'utf8'))
    return url && email && token ? { url, email, token } : undefined
  } catch {
    return undefined
  }
}

/** Keeps a login for the user alone. A new file takes the place of the old one, which others may have been let read. */
export function saveLogin(login: Login): void {
  try {
    const file = loginFile()
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const fresh = `${file}.${process.pid}`
    writeFileSync(fresh, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    renameSync(fresh, file)
  } catch (error) {
    throw new UsageFault(`The login cannot be kept: ${(error as Error).message}. ${elsewhere}`)
  }
}

const elsewhere =
  'Set XDG_CONFIG_HOME to a folder that can be written, or PRICEWELL_EMAIL and PRICEWELL_PASSWORD instead of a login.'
