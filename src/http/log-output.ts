import type { Writable } from 'node:stream'

/** As many lines as a reader may be behind: it is stopped, or its disk is slow. */
const waitingBytesMax = 4 * 1024 * 1024

/**
 * Writes lines of the log to `output`. Those for which its reader leaves no room are lost: kept, they would take all the
 * memory there is.
 */
export function logTo(output: Writable): { write(line: string): void } {
  return {
    write: (line) => {
      if (output.writableLength < waitingBytesMax) output.write(line)
    },
  }
}
