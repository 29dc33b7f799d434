import { createRequire } from 'node:module'
import { Command } from '@commander-js/extra-typings'
import { exitCodes } from './faults.ts'
import { printable } from './terminal.ts'

const { version } = createRequire(import.meta.url)('pricewell/package.json')

/** Whether errors are written as JSON, including those about arguments. */
export const asksForJson = process.argv.includes('--json')

/** Creates the command line without its commands. */
export function createProgram() {
  return new Command('pricewell')
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
}

export type Program = ReturnType<typeof createProgram>

/** Options of every command. */
export interface Shared {
  url?: string | undefined
  json?: true | undefined
}

/** Writes a result to standard output, as JSON or as text for people. */
export function answer({ json }: Shared, value: unknown, forPeople: string): void {
  console.log(json ? JSON.stringify(value) : printable(forPeople))
}

/** Writes what goes on after the command to standard error, as JSON with `further` or as text for people. */
export function tell({ json }: Shared, message: string, further: object = {}): void {
  console.error(json ? JSON.stringify({ message, ...further }) : printable(message))
}
