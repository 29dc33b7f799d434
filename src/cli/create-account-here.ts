import { createAccount, EmailTaken, type NewUser } from '../accounts/create-account.ts'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { holdsCluster } from '../database/embedded/cluster.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabaseServer } from '../database/server.ts'
import { startFault } from '../startup-errors.ts'
import { Failed, UsageFault } from './faults.ts'

interface Wanted {
  account: string
  email: string
  password?: string
  /** Makes a database where DATA_DIR holds none. */
  init?: boolean
}

/**
 * Creates a user, and the account if there is none of that name, in the embedded database (DATA_DIR) or that of
 * DATABASE_URL, while the service runs and when it does not.
 */
export async function createAccountHere({ init = false, ...wanted }: Wanted): Promise<NewUser> {
  try {
    const { env } = process
    const config = readConfig({ ...env, JWT_SECRET: env.JWT_SECRET ?? 'x'.repeat(32) })
    if (!init) rejectMistyped(config)
    const server = await openDatabaseServer(config)
    try {
      await migrate(server.url)
      return await createAccount(server.url, wanted)
    } finally {
      await server.stop()
    }
  } catch (error) {
    if (error instanceof EmailTaken) throw new Failed(error.message)
    if (error instanceof ConfigError) throw new UsageFault(error.message)
    const told = startFault(error)
    throw typeof told === 'string' ? new Failed(told) : error
  }
}

function rejectMistyped({ databaseUrl, dataDir }: Config): void {
  if (databaseUrl !== undefined || holdsCluster(dataDir)) return
  throw new UsageFault(
    `There is no database in ${dataDir}: set DATA_DIR to the folder of the service, or make a new database there with --init.`,
  )
}
