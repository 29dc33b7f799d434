import type { Program } from '../program.ts'

/** `pricewell serve`. */
export function addServe(program: Program): void {
  program
    .command('serve')
    .description('Runs the service here, on a PostgreSQL of its own unless DATABASE_URL names one.')
    .addHelpText(
      'after',
      '\nThe environment configures it (PORT, DATABASE_URL, ...); OPERATIONS.md lists it.\n\nExample:\n  PORT=8080 pricewell serve',
    )
    .action(async () => {
      await import('../../server.ts')
    })
}
