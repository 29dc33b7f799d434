import { createAccount, EmailTaken, type NewUser } from '../accounts/create-account.ts'
import { ConfigError, readConfig } from '../config.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabaseServer } from '../database/server.ts'
import { startFault } from '../start-fault.ts'
import { Failed, UsageFault } from './faults.ts'

/**
 * Creates a user, and the account if there is none of that name, in the embedded database (DATA_DIR) or that of
 * DATABASE_URL, while the service runs and when it does not.
 */
export async function createAccountHere(wanted: {
  account: string
  email: string
  password?: string
}): Promise<NewUser> {
  try {
    const { env } = process
    const config = readConfig({ ...env, JWT_SECRET: env.JWT_SECRET ?? 'x'.repeat(32) })
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
