import { InvalidArgumentError } from '@commander-js/extra-typings'
import { type Format, plainShape } from '../feed-file.ts'
import { collections } from '../kinds.ts'
import type { Program } from '../program.ts'
import { buffers, outputOption, writeExport } from './export.ts'

export function addPosition(program: Program): void {
  program
    .command('position')
    .description(
      'Writes the prices of a list with margins, competitors and sales as CSV or NDJSON.',
    )
    .argument('<list>', 'the name of the price list')
    .addOption(outputOption)
    .option('--date <day>', 'one day of a calendar list; all its days when left out')
    .option(
      '--above <percent>',
      'only prices more than this above the cheapest competitor',
      percent,
    )
    .option('--margin-above <percent>', 'only prices with a margin over this', percent)
    .addHelpText(
      'after',
      `
Competitors and sales of the last 30 days count. Both options use the price after today's promotions: active_price
and active_margin in the file.

Examples:
  pricewell position 'Retail 2026' -o position.csv
  pricewell position 'Retail 2026' --above 10 --margin-above 20`,
    )
    .action(async (list, options) => {
      const collection = {
        ...collections.prices,
        query: { include: 'active_margin,competition,sales' },
      }
      const { above, marginAbove, date } = options
      const minima = Object.entries({
        'competition/gap_percent': above,
        active_margin: marginAbove,
      })
      const over = minima.filter((one): one is Minimum => one[1] !== undefined)
      const filter =
        over.length > 0
          ? (chunks: Chunks, format: Format) => rowsOver(over, chunks, format)
          : undefined
      await writeExport(options, { name: 'position', collection, list, date, filter })
    })
}

type Minimum = [field: string, minimum: number]
type Chunks = AsyncIterable<Uint8Array>

/** Keeps the header and the rows whose figures all exceed their minimum. */
async function* rowsOver(
  minima: Minimum[],
  chunks: Chunks,
  format: Format,
): AsyncGenerator<Uint8Array> {
  // Loaded only here, so that other commands start without it.
  const { csvRows, ndjsonRows } = await import('../file-rows.ts')
  const rows = format === 'csv' ? csvRows(buffers(chunks), plainShape) : ndjsonRows(buffers(chunks))
  let isHeader = format === 'csv'
  for await (const { text, cellOf } of rows) {
    // Leaves out a row without the figure.
    const isOver = minima.every(([field, minimum]) => Number(cellOf(field) || Number.NaN) > minimum)
    if (isHeader || isOver) yield Buffer.from(text)
    isHeader = false
  }
}

function percent(text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('Must be a number, such as 10.')
  return Number(text)
}
