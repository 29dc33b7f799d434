import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '../../../src/accounts/create-account.ts'
import { readConfig } from '../../../src/config.ts'
import { removeDataDir } from '../../../src/database/embedded/cluster.ts'
import { startService } from '../../../src/service.ts'
import { leaveNothing } from '../../helpers/leave-nothing.ts'
import { buildClients } from './build-clients.ts'
import { checkFirstDay } from './check-first-day.ts'

/**
 * Generates clients with three generators, compiles a first day's work with each (strict) and runs it on the
 * service: `npm run test:clients`.
 */
const command = leaveNothing()
const dir = mkdtempSync(join(tmpdir(), 'pricewell-clients-'))
command.teardown(() => removeDataDir(dir))
const service = await startService(
  readConfig({ DATA_DIR: join(dir, 'data'), JWT_SECRET: 'x'.repeat(32), LOG_LEVEL: 'error' }),
)
command.teardown(() => service.close())
const url = await service.app.listen({ port: 0 })
const clients = buildClients(join(dir, 'clients'), url)
for (const [name, file] of Object.entries(clients)) {
  const user = await createAccount(service.server.url, {
    account: name,
    email: `${name}@example.com`,
  })
  const { firstDay } = await import(file)
  checkFirstDay(await firstDay({ url, ...user }))
  console.log(`${name}: a first day's work`)
}
await command.end(true)
