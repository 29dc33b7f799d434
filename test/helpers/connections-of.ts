import type { Test } from 'tap'
import { query } from './database.ts'
import type { TestService } from './service.ts'

/** Allows or refuses new connections to the service's database; allowed again when the test ends. */
export function connectionsOf(
  t: Test,
  { url }: TestService,
): { allow(isAllowed: boolean): Promise<unknown>; end(): Promise<unknown> } {
  const name = new URL(url).pathname.slice(1)
  const other = url.replace(`/${name}`, '/postgres')
  const allow = (isAllowed: boolean) =>
    query(other, `alter database ${name} with allow_connections ${isAllowed}`)
  t.teardown(() => allow(true))
  const end = () =>
    query(other, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
  return { allow, end }
}
