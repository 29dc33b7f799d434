import closeWithGrace from 'close-with-grace'
import { createAccount, hasAccounts } from './accounts/create-account.ts'
import { ConfigError, readConfig } from './config.ts'
import { startService } from './service.ts'

try {
  const config = readConfig(process.env)
  const { app, server, close } = await startService(config)
  closeWithGrace({ delay: 25_000, logger: false }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    await close()
  })
  if (config.role === 'worker') console.log('Pricewell takes background jobs.')
  else {
    const url = await app.listen({
      port: config.port,
      host: config.host,
      listenTextResolver: () => '',
    })
    console.log(`Pricewell listens on ${url}\nDocumentation and a console: ${url}/docs`)
  }
  if (server.isEmbedded && !(await hasAccounts(server.url))) await announceFirstAccount(server.url)
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error)
  process.exit(1)
}

/** To the terminal and not to the log, and only now: the password is kept nowhere. */
async function announceFirstAccount(url: string): Promise<void> {
  const { email, password } = await createAccount(url, {
    account: 'first',
    email: 'admin@example.com',
  })
  console.log(
    `\nYour first account (shown this once):\n  e-mail    ${email}\n  password  ${password}\n`,
  )
}
