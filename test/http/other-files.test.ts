import { gzipSync } from 'node:zlib'
import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/product_catalog/bulk_create_or_update/'
const csv = { 'content-type': 'text/csv' }

const service = await sharedService()
const account = await service.newAccount(t)
await account.post('/api/v1/product_catalog/schema/create_schema/', {
  attributes: [{ name: 'brand', type: 'string' }],
  extensions: [{ name: 'country', type: 'string' }],
  costs: [{ name: 'purchase' }],
})

const semicolons = {
  'no quotes': 'code;country;purchase\r\nA;FR;1.5\r\n',
  'a quoted cell': 'code;country;purchase\r\nA;FR;1.5\r\n"B;x";FR;2\r\n',
  'an inch sign': 'code;country;purchase\r\nDISK 3.5";FR;1.5\r\n',
  'an inch sign in the header': 'code;country;screen 10"\r\nA;FR;1\r\n',
  'quotes around all names': '"code";"country"\r\n"A";"FR"\r\n',
  'a comma in a quoted name': 'code;country;"purchase, EUR"\r\nA;FR;1\r\n',
  'a comma in a name': 'code;purchase, EUR\r\nA;1\r\n',
  'names that nobody knows': 'Artikel;Land\r\nA;FR\r\n',
  'a quote that is never closed': '"code;country\r\nA;FR\r\n',
  'decimal commas': 'code;country;purchase\r\nA;FR;1,5\r\n',
  'bytes of another encoding': Buffer.from('code;country\r\nM\xfcller;FR\r\n', 'latin1'),
  'NUL further behind': 'code;country;purchase\r\nA;F\0R;1\r\n',
}

const others = {
  tabs: 'code\tcountry\tpurchase\r\nA\tFR\t1\r\n"B ""x"""\tFR\t2\r\n',
  pipes: 'code|country|purchase\r\n"A|x"|FR|1\r\n',
}

const files = [
  ...Object.entries(semicolons).map(([name, file]) => [name, file, 'semicolons'] as const),
  ...Object.entries(others).map(([name, file]) => [name, file, name] as const),
]

for (const [name, file, separator] of files) {
  t.test(`columns that are separated by ${separator} are told so: ${name}`, async (t) => {
    for (const [body, headers] of [
      [file, csv],
      [gzipSync(file), { ...csv, 'content-encoding': 'gzip' }],
    ] as const) {
      const answer = await account.send('POST', path, body, headers)
      t.match(answer, { status: 400, body: { type: 'invalid-request' } })
      const [error] = answer.body.errors
      t.match(error, { line: 1, code: 'unknown_key', pointer: /^#\/columns\// })
      const hint = `is not a known key; columns are separated by commas, not by ${separator}`
      t.equal(error.message, hint)
    }
  })
}

t.test('a job tells it, too', async (t) => {
  const headers = { ...csv, prefer: 'respond-async' }
  const { body } = await account.send('POST', path, semicolons['a quoted cell'], headers)
  const { status, errors } = await account.finished(body)
  t.match({ status, errors }, { status: 'failed', errors: [{ line: 1, message: /semicolons/ }] })
})

t.test('a header with other faults is told them before what is wrong behind it', async (t) => {
  const unknown = { line: 1, pointer: '#/columns/Code', code: 'unknown_key' }
  for (const rest of ['A,FR\r\n"B"x,FR\r\n', 'A,FR\r\nB,F\0R\r\n', 'A"B,FR\r\n']) {
    const answer = await account.send('POST', path, `Code,country\r\n${rest}`, csv)
    t.match(answer, { status: 400, body: { type: 'invalid-request', errors: [unknown] } }, rest)
    t.match(answer.body.errors[0].message, /^is not a known key; known are code, /)
  }
  const lines = await account.send('POST', path, '\n\n"Co\nde",country\n"B"x,FR\n', csv)
  t.match(lines.body.errors, [{ line: 3, field: 'Co\nde', code: 'unknown_key' }])
})

t.test('a sound header leaves a row its fault', async (t) => {
  const answer = await account.send('POST', path, 'code,country\r\nA,FR\r\n"B"x;y,FR\r\n', csv)
  t.match(answer, { status: 400, body: { type: 'malformed-file', errors: [{ line: 3 }] } })
})

t.test('an unknown column with a semicolon in its name is no separator', async (t) => {
  const answer = await account.send('POST', path, 'code,country,"a;b;c;d"\r\n', csv)
  t.match(answer.body.errors, [
    { field: 'a;b;c;d', message: /^is not a known key; known are code, / },
  ])
  t.equal(answer.body.errors.length, 1)
})

t.test('a line that only names the separator is refused, whatever stands behind it', async (t) => {
  const cases: [line: string, rest: string, hint: string][] = [
    ['sep=,', 'code,country\r\nA,FR\r\n', 'separated by commas'],
    ['sep=;', 'code;country\r\nA;FR\r\n', 'separated by commas, not by semicolons'],
    ['"SEP=;"', 'code;country\r\n"A"x;FR\r\n', 'separated by commas, not by semicolons'],
    ['sep=\t', 'code\tcountry\r\n', 'separated by commas, not by tabs'],
    ['sep=#', 'code#country\r\n', 'separated by commas, not by "#"'],
  ]
  for (const [line, rest, hint] of cases) {
    const answer = await account.send('POST', path, `${line}\r\n${rest}`, csv)
    t.match(answer, { status: 400, body: { type: 'invalid-request', error_count: 1 } }, line)
    const message = `is no header: take this line out; columns are ${hint}`
    t.match(answer.body.errors, [{ line: 1, message }], line)
  }
})

const zip = Buffer.from('504b03041400060008000000210062', 'hex')
const binaries: [name: string, bytes: Buffer, told: RegExp][] = [
  ['.xlsx', zip, /a ZIP archive, such as \.xlsx and \.ods: export the table as CSV UTF-8/],
  ['.xls', Buffer.from('d0cf11e0a1b11ae10000', 'hex'), /an older Excel \(\.xls\): export/],
  ['gzip', gzipSync('code,country\n'), /compressed with gzip: .*"Content-Encoding: gzip"/],
  ['PDF', Buffer.from('%PDF-1.7\n%\xe2\xe3\n', 'latin1'), /a PDF: export/],
  ['PNG', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), /binary and no text: export/],
  ['UTF-16 without a mark', Buffer.from('code,country\n', 'utf16le'), /binary and no text: export/],
  ['UTF-16', Buffer.from('\ufeffcode\n', 'utf16le'), /UTF-16: save it as UTF-8/],
]

for (const [name, bytes, told] of binaries) {
  t.test(`what is no text is told what it is and what to do: ${name}`, async (t) => {
    for (const type of ['text/csv', 'application/x-ndjson']) {
      const answer = await account.send('POST', path, bytes, { 'content-type': type })
      const { body, status } = answer
      t.match({ status, type: body.type }, { status: 400, type: 'malformed-file' }, type)
      t.match(body.detail, told, type)
      t.match(body.errors, [{ line: 1, code: 'malformed_row' }], type)
    }
  })
}
