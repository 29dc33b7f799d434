import { UsageFault } from '../faults.ts'
import { answer, type Program } from '../program.ts'
import { openPrompt } from '../prompt.ts'
import { identity, logIn, openClient, readLogin, serviceUrl } from '../session.ts'

export function addPassword(program: Program): void {
  program
    .command('password')
    .description('Changes your password, which ends your other logins within 10 seconds.')
    .addHelpText(
      'after',
      `
Both passwords are asked for, or read from standard input, one per line. The new one needs at least 12 characters.

Examples:
  pricewell password
  pricewell password < old-and-new.txt`,
    )
    .action(async () => {
      const client = openClient()
      const body = await readPasswords()
      await client.POST('/api/v1/users/change_password/', { body })
      answer({ changed: true }, 'Password changed.')
      await keepLogin(serviceUrl(), body.new_password)
    })
}

async function readPasswords() {
  const prompt = openPrompt()
  try {
    const current_password = await prompt.askSecret('Current password: ')
    const new_password = await prompt.askSecret('New password: ')
    if (current_password === '' || new_password === '')
      throw new UsageFault(`The ${current_password ? 'new' : 'current'} password is missing.`)
    if (process.stdin.isTTY && (await prompt.askSecret('Once more: ')) !== new_password)
      throw new UsageFault('The new passwords differ. Nothing was changed.')
    return { current_password, new_password }
  } finally {
    prompt.close()
  }
}

/** Logs in again, because the saved token ended with the old password. */
async function keepLogin(url: string, password: string): Promise<void> {
  const login = readLogin()
  if (login && identity(url).token === login.token) {
    const { email } = login
    await logIn(url, { email, password })
  }
}
