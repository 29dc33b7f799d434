import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { RejectedRows } from '../../src/feeds/rejected-rows.ts'
import { nextTurn } from '../../src/lib/cooperative.ts'

const directory = mkdtempSync(join(tmpdir(), 'pricewell-rejected-'))
const { TMPDIR } = process.env
process.env.TMPDIR = directory
t.teardown(() => {
  process.env.TMPDIR = TMPDIR
  rmSync(directory, { recursive: true })
})

const fault = {
  pointer: '/1/=code',
  field: '=code',
  code: 'length',
  message: 'is too long',
} as const

/** A file of two rows of which the second is bad, and of so many more. */
async function refused(t: Test, account: number, more = 0): Promise<RejectedRows> {
  const onFault = (cause: unknown) => t.fail(String(cause))
  const rows = new RejectedRows({ mediaType: 'text/csv', account, onFault })
  t.teardown(() => rows.delete())
  await rows.begin(['=code', 'size'])
  const batch = [1, 2].map((line) => ({ value: {}, line, source: [`'=${line}`, 'S'] }))
  await rows.add(batch, [{ ...fault, row: 1 }], 0)
  const others = Array.from({ length: more }, (_, index) => ({
    value: {},
    line: index + 3,
    source: ['x'.repeat(1000), 'S'],
  }))
  await rows.add(others, [], 2)
  rows.end([])
  return rows
}

const stays = new AbortController().signal

t.test('rows come back as they were sent, and no spreadsheet runs their errors', async (t) => {
  const { contentType, open } = await (await refused(t, 1)).answer()
  t.equal(contentType, 'text/csv; charset=utf-8')
  const expected = "=code,size,error\r\n'=1,S,\r\n'=2,S,'=code: is too long\r\n"
  t.equal(await text(open(stays)), expected)
})

t.test(
  'nothing of them has a name, so that nothing is left whatever ends the process',
  async (t) => {
    t.equal((await refused(t, 1)).isWhole, true)
    t.strictSame(readdirSync(directory), [])
  },
)

t.test('an account has two of the four places, until its answers are read', async (t) => {
  const [first, second, third] = [await refused(t, 1), await refused(t, 1), await refused(t, 1)]
  t.strictSame([first.isWhole, second.isWhole, third.isWhole], [true, true, false])
  const { open } = await first.answer()
  t.equal((await refused(t, 1)).isWhole, false, 'nobody has read the first one')
  await text(open(stays))
  t.equal((await refused(t, 1)).isWhole, true)
})

t.test('others have the other two, and nobody a fifth', async (t) => {
  const whole: boolean[] = []
  for (const account of [1, 1, 1, 2, 3, 4]) whole.push((await refused(t, account)).isWhole)
  t.strictSame(whole, [true, true, false, true, true, false])
})

for (const more of [0, 5000])
  t.test(
    `a client that goes leaves its place, and nothing is open: ${more} rows more`,
    async (t) => {
      const before = openFiles()
      const rows = await refused(t, 1, more)
      const gone = new AbortController()
      const { open } = await rows.answer()
      for await (const _ of open(gone.signal)) {
        gone.abort()
        break
      }
      while (openFiles() > before) await nextTurn()
      // The place is left a moment after the file is closed, and only if others have a turn.
      for (let has = 0; has < 2; await nextTurn()) if ((await refused(t, 1)).isWhole) has++
      t.pass('it has its two places')
    },
  )

function openFiles(): number {
  return readdirSync('/proc/self/fd').length
}
