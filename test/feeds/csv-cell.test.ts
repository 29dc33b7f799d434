import fc from 'fast-check'
import t from 'tap'
import { cellReader, escapeFormula, unescapeFormula } from '../../src/feeds/csv-cell.ts'

t.test(
  'what a spreadsheet would run stands behind an apostrophe, numbers as they are',
  async (t) => {
    for (const text of [
      '=1+1',
      '+x',
      '-x',
      '@SUM(A1)',
      '\t=1',
      '\r=1',
      '\n=1',
      '＝1',
      "'=1",
      "''@",
      ' =1',
      '\u00a0=1',
      '\u200b+x',
      '\ufeff=1',
      ' \u2060\u3000@x',
      '\u0001=1',
      '\u2800\u3164=1',
      ' -1',
    ])
      t.equal(escapeFormula(text), `'${text}`, text)
    for (const text of ['-1', '+1', '-1.50', '1e5', '-.5', 'a=1', "'a", "'", " '=1", ' a', ''])
      t.equal(escapeFormula(text), text, text)
  },
)

t.test(
  'one apostrophe is taken away before what a spreadsheet would run, and no other',
  async (t) => {
    const cells = {
      "'=1": '=1',
      "' =1": ' =1',
      "' '=1": "' '=1",
      "''@": "'@",
      "'＝1": '＝1',
      "'-1": '-1',
      "''x": "''x",
      "'x": "'x",
    }
    for (const [cell, text] of Object.entries(cells)) t.equal(unescapeFormula(cell), text, cell)
  },
)

t.test('any text is read as it was before it was escaped', async () => {
  const hostile = fc.stringMatching(/^['=+\-@\t\r\n \u00a0\u200b＝0-9ae.]{0,8}$/)
  fc.assert(
    fc.property(
      fc.oneof(hostile, fc.string()),
      (text) => unescapeFormula(escapeFormula(text)) === text,
    ),
    { numRuns: 2000 },
  )
})

t.test(
  'cells are read by the type of their column; what is no value of it stays text',
  async (t) => {
    const cases: [type: string | string[], cell: string, value: unknown][] = [
      ['string', '007', '007'],
      ['string', 'TRUE', 'TRUE'],
      ['number', '2.50', 2.5],
      ['number', '-1', -1],
      ['number', '-0.00', 0],
      ['number', '1E+05', 100000],
      ['number', '999999999999999', 999999999999999],
      ['number', '0.1234567890123456789', Number.POSITIVE_INFINITY],
      ['number', '9007199254740993', Number.POSITIVE_INFINITY],
      ['integer', '9007199254740991', 9007199254740991],
      ['number', '007', '007'],
      ['number', '1,5', '1,5'],
      ['number', 'NaN', 'NaN'],
      ['number', 'Infinity', 'Infinity'],
      ['number', '0x10', '0x10'],
      ['boolean', 'TRUE', true],
      ['boolean', 'false', false],
      ['boolean', 'yes', 'yes'],
      ['array', '["a"]', ['a']],
      ['object', '{"a":1}', { a: 1 }],
      ['object', '{a}', '{a}'],
      ['object', '1],[2', '1],[2'],
      [['number', 'object'], '2.5', 2.5],
      [['string', 'number', 'boolean'], '85123', '85123'],
      [['string', 'number', 'boolean', 'array', 'object'], '4', 4],
      [['string', 'number', 'boolean', 'array', 'object'], 'left', 'left'],
      [['string', 'number', 'boolean', 'array', 'object'], 'FALSE', false],
      [['string', 'number', 'boolean', 'array', 'object'], '"4"', '4'],
    ]
    for (const [type, cell, value] of cases)
      t.strictSame(cellReader({ type })(cell), value, `${type} ${cell}`)
  },
)
