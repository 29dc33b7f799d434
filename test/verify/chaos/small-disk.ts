import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A small file system that can be filled to the last block. */
export interface SmallDisk {
  readonly path: string
  fill(): void
  free(): void
  unmount(): void
}

const block = Buffer.alloc(64 * 1024)

/** Mounts a small file system in memory; throws unless root. */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'pricewell-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  } catch (error) {
    rmdirSync(path)
    throw error
  }
  chmodSync(path, 0o755)
  const filler = join(path, 'filler')
  return {
    path,
    fill: () => {
      const file = openSync(filler, 'w')
      try {
        for (;;) writeSync(file, block)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(filler),
    unmount: () => {
      execFileSync('umount', ['--lazy', path])
      rmSync(path, { recursive: true })
    },
  }
}

/** Why no small disk can be mounted here; undefined if it can. */
export function noSmallDisk(): string | undefined {
  try {
    mountSmallDisk(1).unmount()
    return undefined
  } catch (error) {
    return `no file system can be mounted (${(error as Error).message.split('\n')[0]})`
  }
}
