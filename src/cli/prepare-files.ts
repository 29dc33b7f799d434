import { InvalidArgumentError } from '@commander-js/extra-typings'
import { UsageFault } from './faults.ts'
import {
  type CsvShape,
  type FeedFile,
  type Format,
  mediaTypes,
  openFeedFile,
  plainShape,
} from './feed-file.ts'
import { type FeedKind, feeds } from './kinds.ts'
import { requireRowCount } from './row-count.ts'
import { openClient } from './session.ts'

/** Options that say what the files hold. */
export interface FileOptions {
  format?: Format | undefined
  /** How many rows a file must have. */
  rows?: number | undefined
  delimiter?: string | undefined
  decimalComma?: true | undefined
  /** The service's column names by the user's. */
  column?: Map<string, string> | undefined
  /** The user's names of columns to leave out. */
  without?: string[] | undefined
}

/** Opens the files and rewrites them as the options demand. Throws `UsageFault`. */
export async function prepareFiles(
  kind: FeedKind,
  names: string[],
  options: FileOptions,
): Promise<FeedFile[]> {
  const { format = 'csv', rows } = options
  const files = names.map((name) => (name === '-' ? standardInput(format) : openFeedFile(name)))
  const shaped = await shapedFiles(kind, files, options)
  return rows === undefined ? shaped : shaped.map((file) => requireRowCount(file, rows))
}

async function shapedFiles(
  kind: FeedKind,
  files: FeedFile[],
  options: FileOptions,
): Promise<FeedFile[]> {
  const { delimiter = ',', decimalComma, column: columns = new Map(), without = [] } = options
  if (delimiter === ',' && !decimalComma && columns.size === 0 && without.length === 0) return files
  const { withCsvShape } = await import('./reshape.ts')
  const isNumeric = decimalComma && (await numericColumns(kind))
  return files.map((file) =>
    withCsvShape(file, { delimiter, columns, without, leftOut: new Set(), isNumeric }),
  )
}

/** Returns which columns hold numbers: decimals of the contract, and the account's numbers and costs. */
async function numericColumns(kind: FeedKind): Promise<NonNullable<CsvShape['isNumeric']>> {
  const { data } = await openClient().GET('/api/v1/product_catalog/schema/')
  const numbers = [...data.attributes, ...data.extensions].filter(({ type }) =>
    ['number', 'integer'].includes(type),
  )
  const own = new Set(
    [...numbers, ...data.costs].flatMap(({ name }) => [name, `price_line.${name}`]),
  )
  const isOfContract = (column: string) =>
    feeds[kind].decimals.some((name) =>
      name.endsWith('.') ? column.startsWith(name) : column === name,
    )
  return (column) => isOfContract(column) || own.has(column)
}

/** Parses one character; `tab` and `\t` stand for a tab. Throws InvalidArgumentError. */
export function character(text: string): string {
  if (text === 'tab' || text === '\\t') return '\t'
  if (!/^[^"\r\n]$/u.test(text)) throw new InvalidArgumentError('Must be one character, or tab.')
  return text
}

/** Adds a pair of column names such as Artikel=code to the earlier ones. Throws InvalidArgumentError. */
export function oneColumn(text: string, earlier = new Map<string, string>()): Map<string, string> {
  const [, from, to] = /^([^=]+)=(.+)$/s.exec(text) ?? []
  if (from === undefined || to === undefined)
    throw new InvalidArgumentError('Must be two column names, such as Artikel=code.')
  if (earlier.has(from))
    throw new InvalidArgumentError(`Column "${from}" has another name already.`)
  return new Map([...earlier, [from, to]])
}

/** The name of standard input in messages. */
const name = 'Standard input'

/** Standard input as a file of rows. It can be sent once. */
function standardInput(format: Format): FeedFile {
  let isOpen = false
  const open = () => {
    if (isOpen) throw new UsageFault(`${name} cannot be read again: run the command again.`)
    isOpen = true
    return wholeLines(process.stdin)
  }
  const reads = { open, decoded: open, original: undefined }
  const size = { isGzip: false, bytes: 0, length: undefined }
  return { name, mediaType: mediaTypes[format], ...size, shape: plainShape, ...reads }
}

const lineFeed = 0x0a

/** Passes chunks through. Throws `UsageFault` before the end if there are none, or if the last line may be cut off. */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let last: number | undefined
  for await (const chunk of chunks) {
    last = chunk.at(-1) ?? last
    yield chunk
  }
  if (last === undefined) throw new UsageFault(`${name} is empty. Nothing was loaded.`)
  if (last !== lineFeed)
    throw new UsageFault(
      `${name} does not end with a line feed: it may be cut off. Nothing was loaded.`,
    )
}
