import { createRequire } from 'node:module'
import { Command } from '@commander-js/extra-typings'
import { exitCodes } from './faults.ts'
import { printable } from './terminal.ts'

const { version } = createRequire(import.meta.url)('pricewell/package.json')

/** Whether errors are written as JSON, including those about arguments. */
export const asksForJson = process.argv.includes('--json')

/** The command line, to which main adds the commands. */
export const program = new Command('pricewell')
  .description('Loads feeds into a Pricewell service, follows its jobs and looks up prices.')
  .version(version)
  .option(
    '--url <address>',
    'the service; else PRICEWELL_URL, that of the last login, or this machine',
  )
  .option('--json', 'write results and errors as JSON')
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('See `pricewell --help` and `pricewell <command> --help`.')
  .exitOverride()
  .configureOutput({ writeErr: (text) => void (asksForJson || process.stderr.write(text)) })
  .addHelpText(
    'after',
    `
Credentials: PRICEWELL_API_KEY or PRICEWELL_TOKEN, else PRICEWELL_EMAIL and PRICEWELL_PASSWORD, else the login
saved by \`pricewell login\`.

${exitCodes}`,
  )

export type Program = typeof program

/** Writes a result to standard output, as JSON or as text for people. */
export function answer(value: unknown, forPeople: string): void {
  console.log(program.opts().json ? JSON.stringify(value) : printable(forPeople))
}

/** Writes what goes on after the command to standard error, as JSON with `further` or as text for people. */
export function tell(message: string, further: object = {}): void {
  console.error(program.opts().json ? JSON.stringify({ message, ...further }) : printable(message))
}
