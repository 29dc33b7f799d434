import { Argument, Option } from '@commander-js/extra-typings'
import type { PricewellClient } from '../../client/index.ts'
import { Failed, UsageFault } from '../faults.ts'
import { type Format, mediaTypes } from '../feed-file.ts'
import { type CollectionKind, collections } from '../kinds.ts'
import { answer, type Program, program } from '../program.ts'
import { countingRows } from '../row-count.ts'
import { openClient } from '../session.ts'
import { rowCount, startBar } from '../terminal.ts'
import { writeTo } from '../write-to.ts'

/** Where an export is written. */
export const outputOption = new Option(
  '-o, --output <file>',
  'the file, compressed if it ends in .gz; else, or for -, standard output',
)

export function addExport(program: Program): void {
  program
    .command('export')
    .description('Writes all rows of a kind as CSV or NDJSON; such a file can be loaded again.')
    .addArgument(
      new Argument('<kind>', 'what to write').choices(Object.keys(collections) as CollectionKind[]),
    )
    .addOption(outputOption)
    .addOption(
      new Option(
        '--format <format>',
        'else by the file extension, else csv (on standard output with --json: ndjson)',
      ).choices([...(['csv', 'ndjson'] as const)]),
    )
    .option('--list <name>', 'the price list of prices and dynamic-attributes')
    .option('--date <day>', 'one day of the prices of a calendar list; all its days when left out')
    .addHelpText(
      'after',
      `
Rows over 1 MB, and promotions that name a price list or column that no longer exists, cannot be loaded again.
Split a file of over 10,000,000 rows to load it.

Example:
  pricewell export prices --list 'Retail 2026' -o prices.csv.gz`,
    )
    .action(async (kind, options) => {
      rejectInvalidOptions(kind, options)
      const { list, date } = options
      await writeExport(options, { name: kind, collection: collections[kind], list, date })
    })
}

/** Writes a collection to the `--output` file, or to standard output. */
export async function writeExport(
  options: { output?: string | undefined; format?: Format | undefined },
  exported: Exported,
): Promise<void> {
  const output = options.output === '-' ? undefined : options.output
  const format = options.format ?? formatOf(output)
  const bar = startBar(exported.name, output === undefined ? { json: true } : program.opts())
  try {
    const { total, chunks } = await openExport(openClient(), exported, format)
    let rows = 0
    const onRows = (passed: number) => {
      rows = passed
      if (total !== undefined) bar.show(Math.min(rows, total), total)
    }
    const wanted = exported.filter?.(chunks, format) ?? chunks
    await writeTo(output, countingRows(wanted, format, onRows))
    bar.stop()
    if (output !== undefined) answer({ file: output, rows }, `${output}: ${rowCount(rows)}.`)
  } finally {
    bar.stop()
  }
}

function rejectInvalidOptions(
  kind: CollectionKind,
  { list, date }: { list?: string | undefined; date?: string | undefined },
): void {
  const { ofList } = collections[kind]
  if (ofList && list === undefined) throw new UsageFault(`Name the price list of ${kind}: --list.`)
  if (!ofList && list !== undefined) throw new UsageFault(`--list does not apply to ${kind}.`)
  if (kind !== 'prices' && date !== undefined)
    throw new UsageFault(`--date does not apply to ${kind}.`)
}

function formatOf(output: string | undefined): Format {
  if (output !== undefined && /\.(json|xlsx?|ods)(\.gz)?$/i.test(output))
    throw new UsageFault(`${output}: rows are written as .csv or .ndjson: rename it.`)
  const isNdjson =
    output === undefined ? program.opts().json : /\.(ndjson|jsonl)(\.gz)?$/i.test(output)
  return isNdjson ? 'ndjson' : 'csv'
}

/** What to export: its display name, where it is read, and from which list, by name or id, and day. */
interface Exported {
  name: string
  collection: {
    path:
      | (typeof collections)[CollectionKind]['path']
      | '/api/v1/plans/{id}/rows/'
      | '/api/v1/price_list/{id}/diff/'
    query: object
  }
  /** Counting the rows would take as long as reading them. */
  isUncounted?: true
  /** The id in the path, else found by the list's name. */
  id?: number
  list?: string | undefined
  date?: string | undefined
  /** Filters the rows. */
  filter?:
    | ((chunks: AsyncIterable<Uint8Array>, format: Format) => AsyncIterable<Uint8Array>)
    | undefined
}

/** Starts an export; returns its bytes and the number of rows to expect, if it is counted. */
async function openExport(
  client: PricewellClient,
  { collection, isUncounted, id, list, date }: Exported,
  format: Format,
): Promise<{ total: number | undefined; chunks: AsyncIterable<Uint8Array> }> {
  const found = list === undefined ? id : await findList(client, list)
  // All collections have the same types.
  const { path, query } = collection as typeof collections.prices
  const params = {
    path: { id: found ?? 0 },
    query: { ...query, ...(date !== undefined && { date }) },
  }
  const counted = { ...params, query: { ...params.query, limit: 1 } }
  const total = isUncounted ? undefined : (await client.GET(path, { params: counted })).data.count
  const { data } = await client.GET(path, { params, headers: accepting(format), parseAs: 'stream' })
  return { total, chunks: data as ReadableStream<Uint8Array> }
}

/** The headers that ask for a file, or the problem why there is none. */
const accepting = (format: Format) => ({
  accept: `${mediaTypes[format]}, application/problem+json;q=0.5`,
})

/** The chunks of a response as buffers. */
export async function* buffers(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield Buffer.from(chunk)
}

/** The id of the price list with this name. Throws Failed if there is none. */
export async function findList({ GET }: PricewellClient, name: string): Promise<number> {
  const { data } = await GET('/api/v1/price_list/', { params: { query: { name } } })
  const [list] = data.results
  if (!list) throw new Failed(`There is no price list "${name}".`)
  return list.id
}
