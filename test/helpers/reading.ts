import type { Test } from 'tap'
import { type Database, openDatabase } from '../../src/database/pool.ts'
import { ReadingClient } from '../../src/database/reading-client.ts'
import type { TestService } from './service.ts'

/** A pool like that of the reads, closed when the test ends. */
export function openReadingDatabase(
  t: Test,
  { url }: TestService,
  options: { name?: string; connectionsMax: number; client?: typeof ReadingClient },
): Database {
  const db = openDatabase(url, {
    name: 'test',
    client: ReadingClient,
    onError: () => undefined,
    acquireTimeoutMs: 10_000,
    statementTimeoutMs: 5000,
    lockTimeoutMs: 1000,
    ...options,
  })
  t.teardown(() => db.destroy())
  return db
}
