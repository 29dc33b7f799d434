import t from 'tap'
import { RowErrors } from '../../src/contract/row-errors.ts'

t.test('all errors are counted, the first 1,000 in the order of the rows are listed', async (t) => {
  const errors = new RowErrors('/payload')
  for (const row of [5, 2]) {
    for (let key = 0; key < 600; key++) errors.add(row, `k${key}`, 'unknown_key', 'is not known')
  }
  const { message, options } = errors.problem()
  t.equal(options.errorCount, 1200)
  t.match(message, /^1200 errors, the first 1000 are listed/)
  const named = options.errors?.map(({ pointer }) => pointer)
  const pointers = (row: number, count: number) =>
    Array.from({ length: count }, (_, key) => `/payload/${row}/k${key}`)
  t.strictSame(named, [...pointers(2, 600), ...pointers(5, 400)])
  t.equal(errors.all().length, 1200)
  const full = new RowErrors('')
  for (let row = 0; row < 1000; row++) full.add(row, undefined, 'type', 'must be object')
  t.equal(full.problem().message, '1000 errors.', 'all of them are listed')
})

t.test(
  'errors behind those that are listed are counted, in whatever order they come',
  async (t) => {
    const errors = new RowErrors('')
    const rows = Array.from({ length: 3000 }, (_, index) => (index * 7) % 3000)
    for (const row of rows)
      for (let again = 0; again < 2; again++)
        for (let key = 0; key < 5; key++) errors.add(row, `k${key}`, 'unknown_key', 'is not known')
    for (let key = 0; key < 20_000; key++)
      errors.add(3000, `k${key}`, 'unknown_key', 'is not known')
    const { options } = errors.problem()
    t.equal(options.errorCount, 35_000)
    const listed = Array.from({ length: 1000 }, (_, at) => `/${Math.floor(at / 5)}/k${at % 5}`)
    t.strictSame(
      options.errors?.map(({ pointer }) => pointer),
      listed,
    )
    t.ok(errors.all().length <= 20_000, `${errors.all().length} are kept`)
    t.strictSame(errors.sound(Array(3002).fill({})), [{ row: {}, position: 3001 }])
  },
)

t.test('where all are listed, all are kept', async (t) => {
  const errors = new RowErrors('', Number.POSITIVE_INFINITY)
  for (let row = 0; row < 20_000; row++) errors.add(row, 'a', 'type', 'must be string')
  t.equal(errors.all().length, 20_000)
})

t.test('an error that is named again counts once, by its row, field and code', async (t) => {
  const errors = new RowErrors('')
  const add = () => {
    errors.add(1, 'a~1b', 'type', 'must be string')
    errors.add(1, 'a~1b', 'format', 'must be a day')
    errors.add(1, undefined, 'duplicate_row', 'differs')
    errors.add(1, '', 'duplicate_row', 'has a name without letters')
    errors.add(0, 'a~1b', 'type', 'must be string')
  }
  add()
  const once = errors.all()
  t.strictSame(once, [
    { pointer: '/0/a~1b', row: 0, field: 'a/b', code: 'type', message: 'must be string' },
    { pointer: '/1/a~1b', row: 1, field: 'a/b', code: 'type', message: 'must be string' },
    { pointer: '/1/a~1b', row: 1, field: 'a/b', code: 'format', message: 'must be a day' },
    { pointer: '/1', row: 1, code: 'duplicate_row', message: 'differs' },
    {
      pointer: '/1/',
      row: 1,
      field: '',
      code: 'duplicate_row',
      message: 'has a name without letters',
    },
  ])
  add()
  t.strictSame(errors.all(), once)
  t.equal(errors.count, 5)
})
