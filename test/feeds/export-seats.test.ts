import { sql } from 'kysely'
import t from 'tap'
import type { Answer, InAccount, Stream } from '../../src/contract/operation.ts'
import { readInAccount } from '../../src/database/tenant-transaction.ts'
import { exportRows } from '../../src/feeds/export.ts'
import { openReadingDatabase } from '../helpers/reading.ts'
import { startTestService } from '../helpers/service.ts'

/** Keeps the process busy for a while. */
function spin(): void {
  const until = performance.now() + 1
  while (performance.now() < until);
}

t.test('others have their turn while what was read at once is written', async (t) => {
  const service = await startTestService(t)
  const { id: account } = await service.newAccount(t)
  const seen: string[] = []
  const rowsOf = ({ month }: { month: number }) => {
    if (month === 1) setImmediate(() => seen.push('other'))
    spin()
    seen.push(`month ${month}`)
    return [1, 2].map((day) => ({ month, day }))
  }
  const query = sql`select month from generate_series(1, 50) month`
  const db = openReadingDatabase(t, service, { connectionsMax: 1 })
  const handler = exportRows(async () => ({ columns: ['month', 'day'], query, rowsOf }), 'text/csv')
  const inAccountSending: InAccount = (work) => readInAccount(db, account, work)
  const request = { account, params: {}, query: {}, inAccountSending }
  const { body: stream } = (await handler(request as never, {} as never)) as Answer<Stream>
  const text = (await Array.fromAsync(stream.open(new AbortController().signal))).join('')
  t.ok(seen.indexOf('other') < seen.indexOf('month 50'), seen.join())
  const lines = Array.from({ length: 50 }, (_, index) => `${index + 1},1\r\n${index + 1},2\r\n`)
  t.equal(text, `month,day\r\n${lines.join('')}`)
  t.equal(stream.rows, 100)
})
