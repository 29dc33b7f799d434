import type { Test } from 'tap'
import { sameProblem } from './refused.ts'
import type { TestAccount, TestService } from './service.ts'
import { aList } from './shop.ts'

/** Expects the same answer for another account's list as for a missing one, and 400 for an invalid id. */
export async function expectAbsentLists(
  t: Test,
  service: TestService,
  request: (account: TestAccount, id: number | string) => Promise<{ status: number; body: object }>,
): Promise<void> {
  const [account, other] = [await service.newAccount(t), await service.newAccount(t)]
  const foreign = await request(account, (await aList(other, {})).id)
  const absent = await request(account, 9007199254740991)
  for (const { status, body } of [foreign, absent]) {
    t.match({ status, ...body }, { status: 404, type: 'price-list-not-found' })
  }
  sameProblem(t, foreign, absent)
  const none = [
    '0',
    '-1',
    '1.5',
    'x',
    '9007199254740993',
    '%00',
    '1e400',
    '0x1',
    '1e0',
    '%201',
    '1.0',
  ]
  for (const id of none) {
    const { status, body } = await request(account, id)
    t.match({ status, ...body }, { status: 400, errors: [{ pointer: '/path/id' }] }, id)
  }
}
