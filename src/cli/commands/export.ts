import { Argument, Option } from '@commander-js/extra-typings'
import { UsageFault } from '../faults.ts'
import { type CollectionKind, collections } from '../kinds.ts'
import { rowCount } from '../load-report.ts'
import { answer, type Program, type Shared } from '../program.ts'
import { startBar } from '../progress-bar.ts'
import { countingRows, type Export, openExport } from '../read-export.ts'
import { openClient } from '../session.ts'
import { writeTo } from '../write-to.ts'

/** `pricewell export`. */
export function addExport(program: Program): void {
  program
    .command('export')
    .description('Writes all rows of a kind as CSV or NDJSON; such a file can be loaded again.')
    .addArgument(
      new Argument('<kind>', 'what to write').choices(Object.keys(collections) as CollectionKind[]),
    )
    .option('-o, --output <file>', 'where to, compressed if it ends in .gz; else standard output')
    .addOption(
      new Option(
        '--format <format>',
        'else what the end of the file says, else csv (on standard output with --json: ndjson)',
      ).choices([...(['csv', 'ndjson'] as const)]),
    )
    .option('--list <name>', 'the price list of prices and dynamic-attributes')
    .option('--date <day>', 'one day of the prices of a calendar list; all its days when left out')
    .addHelpText(
      'after',
      `
Rows of over 1 MB, and promotions that name a price list or a column which is there no more, cannot be loaded again.
A file of over 10,000,000 rows is loaded in parts.

Example:
  pricewell export prices --list 'Retail 2026' -o prices.csv.gz`,
    )
    .action(async (kind, _options, command) => {
      const options = command.optsWithGlobals()
      const { output, list, date } = options
      rejectMisuse(kind, options)
      const format = options.format ?? formatOf(options)
      const wanted: Export = { kind, list, date, format }
      const bar = startBar(kind, output === undefined ? { json: true } : options)
      try {
        const { total, chunks } = await openExport(openClient(options), wanted)
        let rows = 0
        const onRows = (passed: number) => {
          rows = passed
          bar.show(Math.min(rows, total), total)
        }
        await writeTo(output, countingRows(chunks, format, onRows))
        bar.stop()
        if (output !== undefined)
          answer(options, { file: output, rows }, `${output}: ${rowCount(rows)}.`)
      } finally {
        bar.stop()
      }
    })
}

function rejectMisuse(
  kind: CollectionKind,
  { list, date }: { list?: string | undefined; date?: string | undefined },
): void {
  const { ofList } = collections[kind]
  if (ofList && list === undefined) throw new UsageFault(`Say with --list whose ${kind}.`)
  if (!ofList && list !== undefined) throw new UsageFault(`--list has no meaning for ${kind}.`)
  if (kind !== 'prices' && date !== undefined)
    throw new UsageFault(`--date has no meaning for ${kind}.`)
}

function formatOf({ output, json }: Shared & { output?: string | undefined }): 'csv' | 'ndjson' {
  if (output !== undefined && /\.json(\.gz)?$/i.test(output))
    throw new UsageFault(
      `${output}: rows are written as .csv or .ndjson; name it so, or say --format.`,
    )
  const isNdjson = output === undefined ? json : /\.(ndjson|jsonl)(\.gz)?$/i.test(output)
  return isNdjson ? 'ndjson' : 'csv'
}
