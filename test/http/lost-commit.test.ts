import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/operations.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const csv = 'transaction_id,code,extension,quantity,revenue\nT1,A,UK,1,2.50\n'
const sale = { transaction_id: 'T1', code: 'A', extension: 'UK', quantity: '1', revenue: '2.50' }

const service = await sharedService()

const keyed = { 'idempotency-key': 'k' }
const ways: Record<string, (account: TestAccount) => ReturnType<TestAccount['post']>> = {
  'a JSON body': (account) => account.send('POST', path, [sale], keyed),
  'a file': (account) => account.send('POST', path, csv, { 'content-type': 'text/csv', ...keyed }),
}

/** Has the connection break when a sale that code "A" has is committed, or when it is written. */
const breakConnections = (when: 'initially deferred' | 'initially immediate') =>
  query(
    service.url,
    `create or replace function break_connection() returns trigger language plpgsql security definer as $$
       begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
     create constraint trigger break_connection after insert on sales deferrable ${when}
       for each row execute function break_connection()`,
  )

const mend = () => query(service.url, 'drop trigger break_connection on sales')

for (const [name, send] of Object.entries(ways)) {
  const sendWhileBreaking = async (
    account: TestAccount,
    when: Parameters<typeof breakConnections>[0],
  ) => {
    await breakConnections(when)
    return send(account).finally(mend)
  }

  t.test(`${name} whose commit has no answer is said to be written or not`, async (t) => {
    const answer = await sendWhileBreaking(await service.newAccount(t), 'initially deferred')
    expectProblem(t, answer, 503, 'outcome-unknown', name)
    t.equal(answer.headers['retry-after'], '1')
  })

  t.test(`${name} whose connection breaks before is said not to be, and sent again`, async (t) => {
    const account = await service.newAccount(t)
    const count = async () => (await account.get('/api/v1/sales_history/')).body.count
    const answer = await sendWhileBreaking(account, 'initially immediate')
    expectProblem(t, answer, 503, 'unavailable', name)
    t.equal(await count(), 0)
    t.equal((await send(account)).status, 201)
    t.equal(await count(), 1)
  })
}
