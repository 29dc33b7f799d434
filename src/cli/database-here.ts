import { createAccount, EmailTaken, type NewUser } from '../accounts/create-account.ts'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { distribute } from '../database/cluster.ts'
import { type ClusterStatus, readClusterStatus } from '../database/cluster-status.ts'
import { onOneConnection } from '../database/connection-setup.ts'
import { holdsCluster } from '../database/embedded/cluster.ts'
import { StartupError } from '../database/errors.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabaseServer } from '../database/server.ts'
import { startFault } from '../startup-errors.ts'
import { Failed, UsageFault } from './faults.ts'

interface Wanted {
  account: string
  email: string
  password?: string
  /** Creates a database if DATA_DIR holds none. */
  init?: boolean
}

/**
 * Creates a user, and the account if none has that name, whether or not the service is running. Throws Failed,
 * UsageFault.
 */
export async function createAccountHere({ init = false, ...wanted }: Wanted): Promise<NewUser> {
  try {
    return await onDatabaseHere(init ? () => undefined : rejectMistyped, async (url) => {
      await migrate(url)
      return createAccount(url, wanted)
    })
  } catch (error) {
    if (error instanceof EmailTaken) throw new Failed(error.message)
    throw error
  }
}

/** Distributes the database of DATABASE_URL; returns the tables that were not yet distributed. */
export async function distributeHere(onTable: (table: string) => void): Promise<string[]> {
  const tables: string[] = []
  await onDatabaseHere(rejectEmbedded, async (url) => {
    await migrate(url)
    await onOneConnection(url, (client) =>
      distribute(client, (table) => {
        tables.push(table)
        onTable(table)
      }),
    )
  })
  return tables
}

/** The status of the cluster of DATABASE_URL. Throws Failed, UsageFault. */
export const clusterStatusHere = (): Promise<ClusterStatus> =>
  onDatabaseHere(rejectEmbedded, (url) => onOneConnection(url, readClusterStatus))

/** Runs `work` on the embedded database (DATA_DIR) or that of DATABASE_URL. Throws Failed, UsageFault. */
async function onDatabaseHere<T>(
  rejectUnfit: (config: Config) => void,
  work: (url: string) => Promise<T>,
): Promise<T> {
  try {
    const { env } = process
    const config = readConfig({ ...env, JWT_SECRET: env.JWT_SECRET ?? 'x'.repeat(32) })
    rejectUnfit(config)
    const server = await openDatabaseServer(config)
    try {
      return await work(server.url)
    } finally {
      await server.stop()
    }
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageFault(error.message)
    if (error instanceof StartupError) throw new Failed(error.message)
    const told = startFault(error)
    throw typeof told === 'string' ? new Failed(told) : error
  }
}

function rejectEmbedded({ databaseUrl }: Config): void {
  if (databaseUrl === undefined)
    throw new UsageFault(
      'The embedded database is on one machine: set DATABASE_URL to the coordinator of a cluster.',
    )
}

function rejectMistyped({ databaseUrl, dataDir }: Config): void {
  if (databaseUrl !== undefined || holdsCluster(dataDir)) return
  throw new UsageFault(
    `There is no database in ${dataDir}: set DATA_DIR to the folder of the service, or create a new database there with --init.`,
  )
}
