import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isReachable, makeReachable } from '../../src/database/embedded/binaries.ts'

const stranger = { uid: 65_534, gid: 65_534 }

/** A folder that everybody may pass through, for folders made while new ones are closed to others. */
function folderUnderClosedMask(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'pricewell-reach-'))
  chmodSync(dir, 0o755)
  const mask = process.umask(0o077)
  t.teardown(() => {
    process.umask(mask)
    rmSync(dir, { recursive: true })
  })
  return dir
}

t.test('a folder for the user of PostgreSQL can be passed through under umask 077', async (t) => {
  const dir = join(folderUnderClosedMask(t), 'system')
  makeReachable(dir, stranger)
  t.ok(isReachable(dir, stranger))
  chmodSync(dir, 0o700)
  makeReachable(dir, stranger)
  t.ok(isReachable(dir, stranger), 'one that was left closed is opened')
})

t.test('a folder that can be passed through keeps its mode', async (t) => {
  const dir = join(folderUnderClosedMask(t), 'system')
  makeReachable(dir, stranger)
  chmodSync(dir, 0o711)
  makeReachable(dir, stranger)
  t.equal(statSync(dir).mode & 0o777, 0o711)
})
