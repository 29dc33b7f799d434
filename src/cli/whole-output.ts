import { fstatSync, writeSync } from 'node:fs'

/**
 * Has standard output, where it is a file, take each piece whole or fail: Node forgets what a full disk did not take of
 * the last one.
 */
export function writeWholePieces(): void {
  if (!fstatSync(1).isFile()) return
  process.stdout._write = (chunk: Buffer, _encoding, done) => {
    try {
      for (let at = 0; at < chunk.length; ) at += writeSync(1, chunk, at)
      done()
    } catch (error) {
      done(error as Error)
    }
  }
}
