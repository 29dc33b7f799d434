import { collections } from '../kinds.ts'
import type { Program } from '../program.ts'
import { writeExport } from './export.ts'

/** `pricewell position`. */
export function addPosition(program: Program): void {
  program
    .command('position')
    .description(
      'Writes the prices of a list with margins, competitors and sales as CSV or NDJSON.',
    )
    .argument('<list>', 'the name of the price list')
    .option('-o, --output <file>', 'where to, compressed if it ends in .gz; else standard output')
    .option('--date <day>', 'one day of a calendar list; all its days when left out')
    .addHelpText(
      'after',
      `
Competitors and sales of the last 30 days count.

Example:
  pricewell position 'Retail 2026' -o position.csv`,
    )
    .action(async (list, _options, command) => {
      const options = command.optsWithGlobals()
      const collection = { ...collections.prices, query: { include: 'competition,sales' } }
      await writeExport(options, { name: 'position', collection, list, date: options.date })
    })
}
