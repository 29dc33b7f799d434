import { parseShort } from '../contract/json.ts'
import { isObject } from '../contract/merge-patch.ts'
import { ValueFault } from '../contract/value-faults.ts'
import { type FileRow, type FileRows, RowBatch, type RowShape } from './rows.ts'
import type { TextBlock } from './text-blocks.ts'

/** Reads a JSON value from each line and skips empty lines. A line that is not JSON is a row with a fault. */
export function readNdjson(blocks: AsyncIterable<TextBlock>, { ignored }: RowShape): FileRows {
  return { header: [], batches: inBatches(blocks, ignored) }
}

async function* inBatches(
  blocks: AsyncIterable<TextBlock>,
  ignored: ReadonlySet<string>,
): AsyncGenerator<FileRow[]> {
  const batch = new RowBatch()
  try {
    for await (const block of blocks)
      for (const { bytes, line } of filledLines(block))
        if (batch.add(readLine(bytes, line, ignored))) yield batch.take()
  } catch (fault) {
    yield* batch.rest()
    throw fault
  }
  yield* batch.rest()
}

/** The lines that are not empty. JSON strings contain no raw CR or LF. */
export function* filledLines({
  bytes,
  line: first,
}: TextBlock): Generator<{ bytes: Buffer; line: number }> {
  let start = 0
  let line = first
  for (let index = 0; index <= bytes.length; index++) {
    const byte = bytes[index]
    if (byte !== 0x0a && byte !== 0x0d && byte !== undefined) continue
    if (index > start) yield { bytes: bytes.subarray(start, index), line }
    start = index + 1
    if (byte === 0x0a || bytes[index + 1] !== 0x0a) line++
  }
}

const notJson = new ValueFault('is not valid JSON')

/** Parses a line by the rules of a JSON body. */
function readLine(bytes: Buffer, line: number, ignored: ReadonlySet<string>): FileRow {
  const source = bytes.toString('utf8')
  const value = parseShort(source)
  return { value: value === undefined ? notJson : withoutIgnored(value, ignored), line, source }
}

function withoutIgnored(value: unknown, ignored: ReadonlySet<string>): unknown {
  if (!isObject(value)) return value
  for (const key of ignored) if (Object.hasOwn(value, key)) delete value[key]
  return value
}
