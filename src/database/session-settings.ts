/**
 * Set for each connection, because they change what statements read, write or may do, and a server, a database or a role
 * may have others (`alter database ... set`). What only makes statements slower, faster or less durable stays its own.
 */
export const sessionSettings = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  row_security: 'on',
  // Each statement of a job looks at what others have done meanwhile, and does not fail for it.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // The migrations grant rights on this schema only.
  search_path: 'public',
  // Migrations take their time, and pools have limits of their own.
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  idle_session_timeout: 0,
}

/** The URL of a database whose settings are as the service needs them, whatever those of its server are. */
export function withOwnSettings(url: string): string {
  return withSessionSettings(url, sessionSettings)
}

/** The URL with `-c name=value` for each setting, beside the options it has already. */
export function withSessionSettings(
  url: string,
  settings: Record<string, string | number>,
): string {
  const result = new URL(url)
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}=${escaped(value)}`)
  const given = result.searchParams.get('options')
  result.searchParams.set('options', [...(given ? [given] : []), ...flags].join(' '))
  return result.toString()
}

/** Options are parted by white space. */
const escaped = (value: string | number) => String(value).replace(/[\\\s]/g, '\\$&')

/** What listens may never answer: the start gives a connection up after this time, and says so. */
export const connectionTimeoutMillis = 5000
