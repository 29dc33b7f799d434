import { UsageFault } from './faults.ts'
import { type FeedFile, plainShape } from './feed-file.ts'

const mediaTypes = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const

/** The name of standard input in messages. */
const name = 'Standard input'

/** Standard input as a file of rows. It can be sent once. */
export function standardInput(format: keyof typeof mediaTypes): FeedFile {
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
      `${name} does not end with a line feed: it may have been cut. Nothing was loaded.`,
    )
}
