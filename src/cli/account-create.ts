import { parseArgs } from 'node:util'
import { createAccount, EmailTaken } from '../accounts/create-account.ts'
import { readConfig } from '../config.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabaseServer } from '../database/server.ts'
import { startFault } from '../start-fault.ts'

class UsageError extends Error {}

const usage = `npm run -s account:create -- --account NAME --email EMAIL [--password PASSWORD]

Creates a user, and the account NAME if there is none. Prints one line of JSON. Works while the service runs and when it
does not, on the embedded database (DATA_DIR) or on DATABASE_URL.`

if (process.argv.includes('--help')) {
  console.log(usage)
  process.exit()
}

try {
  const { account, email, password } = readArguments()
  const config = readConfig({
    ...process.env,
    JWT_SECRET: process.env.JWT_SECRET ?? 'x'.repeat(32),
  })
  const server = await openDatabaseServer(config)
  try {
    await migrate(server.url)
    console.log(
      JSON.stringify(
        await createAccount(server.url, { account, email, ...(password && { password }) }),
      ),
    )
  } finally {
    await server.stop()
  }
} catch (error) {
  const isPlain = error instanceof EmailTaken || error instanceof UsageError
  console.error(isPlain ? error.message : startFault(error))
  process.exit(1)
}

function readArguments(): { account: string; email: string; password: string | undefined } {
  const options = {
    account: { type: 'string' },
    email: { type: 'string' },
    password: { type: 'string' },
  } as const
  try {
    const { account, email, password } = parseArgs({ options }).values
    if (!account || !email) throw new UsageError('--account and --email are required')
    if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 255)
      throw new UsageError(`"${email}" is not an e-mail`)
    if (account.length > 255) throw new UsageError('--account takes at most 255 characters')
    if (password !== undefined && (password.length < 8 || password.length > 255)) {
      throw new UsageError('--password takes 8 to 255 characters')
    }
    return { account, email, password }
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`)
  }
}
