import { METHODS } from 'node:http'
import t from 'tap'
import { operations } from '../../src/contract/document.ts'
import {
  bodyOperations,
  concretePath,
  exampleBody,
  expectProblem,
  protectedOperations,
  send,
} from '../helpers/operations.ts'
import { metricsToken, startTestService } from '../helpers/service.ts'
import { aToken } from '../helpers/tokens.ts'

const service = await startTestService(t, { BODY_LIMIT_MB: '1', ROWS_MAX: '3' })
const json = { 'content-type': 'application/json' }
const token = await aToken()
const authorization = `jwt ${token}`
const megabyte = 1024 * 1024

t.test(
  'without a valid token every protected operation answers 401, whatever the body',
  async (t) => {
    const forged = `${token.slice(0, -6)}AAAAAA`
    const credentials: Record<string, Record<string, string>> = {
      'no header': {},
      'an empty header': { authorization: '' },
      Bearer: { authorization: `Bearer ${token}` },
      'the token alone': { authorization: token },
      'a wrong signature': { authorization: `jwt ${forged}` },
      'an expired token': { authorization: `jwt ${await aToken({ exp: 1_700_000_000 })}` },
    }
    const payloads: Record<string, [Record<string, string>, string | Buffer | undefined]> = {
      'no body': [{}, undefined],
      'a malformed body': [json, '{'],
      'a body over the limit': [json, Buffer.alloc(megabyte + 1, ' ')],
      'another content type': [{ 'content-type': 'text/csv' }, 'a,b'],
      'an Accept that is refused': [{ accept: 'text/csv' }, undefined],
    }
    for (const { method, path, id } of protectedOperations) {
      for (const [credential, header] of Object.entries(credentials)) {
        for (const [content, [type, payload]] of Object.entries(payloads)) {
          if (credential !== 'no header' && content !== 'a malformed body') continue
          const answer = await send(t, service, {
            method,
            path: concretePath(path),
            headers: { ...type, ...header },
            ...(payload !== undefined && { payload }),
          })
          const label = `${id}, ${credential}, ${content}`
          expectProblem(t, answer, 401, 'unauthorized', label)
          t.equal(answer.headers['www-authenticate'], 'jwt', `${label}: names the scheme`)
        }
      }
    }
  },
)

t.test('a token without the scope of the operation is answered 403', async (t) => {
  for (const { method, path, id, scope } of protectedOperations) {
    if (scope === 'any') continue
    const other = scope === 'read' ? 'admin' : 'read'
    for (const scopes of [
      other,
      '',
      'override',
      `${scope}s`,
      scope?.toUpperCase(),
      `${other},${scope}`,
    ]) {
      const headers = { ...json, authorization: `jwt ${await aToken({ scope: scopes })}` }
      const request = { method, path: concretePath(path), headers }
      const answer = await send(
        t,
        service,
        method === 'GET' ? request : { ...request, payload: '{' },
      )
      expectProblem(t, answer, 403, 'forbidden', `${id}, scope "${scopes}"`)
    }
  }
})

t.test('a token with the scope "write" alone may read, too', async (t) => {
  const { id: account } = await service.newAccount(t)
  const own = `jwt ${await aToken({ account, scope: 'write' })}`
  for (const operation of protectedOperations.filter(
    ({ scope }) => !['admin', 'any'].includes(scope ?? ''),
  )) {
    const { method, path, id, hasBody } = operation
    const headers = { ...json, authorization: own }
    const body = hasBody && { payload: JSON.stringify(exampleBody(operation)) }
    const answer = await send(t, service, { method, path: concretePath(path), headers, ...body })
    t.not(answer.status, 401, id)
    t.not(answer.status, 403, id)
  }
})

t.test('every other method of a path is answered 405 with the methods it has', async (t) => {
  const ofPath = Map.groupBy(operations, ({ path }) => path)
  for (const [path, present] of ofPath) {
    const methods = present.map(({ method }) => method)
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    const isOpen = present.every(({ scope }) => scope === undefined)
    for (const method of METHODS.filter((name) => name !== 'CONNECT' && !allow.includes(name))) {
      for (const form of bothForms(concretePath(path))) {
        const answer = await send(t, service, { method, path: form, headers: { authorization } })
        t.equal(answer.status, 405, `${method} ${form}: status`)
        t.equal(answer.headers.allow, allow.join(', '), `${method} ${form}: Allow`)
        t.match(answer.headers['content-type'], /^application\/problem\+json/)
      }
      const { status } = await send(t, service, { method, path: concretePath(path) })
      t.equal(status, isOpen ? 405 : 401, `${method} ${path} without a token`)
    }
  }
})

t.test('the documentation is answered 405 to every other method, without a token', async (t) => {
  const paths = ['/docs', '/docs/', '/docs/json', '/docs/static/swagger-ui.css']
  const others = METHODS.filter((name) => !['CONNECT', 'GET', 'HEAD'].includes(name))
  for (const path of paths) {
    for (const method of others) {
      const answer = await send(t, service, { method, path })
      expectProblem(t, answer, 405, 'method-not-allowed', `${method} ${path}`)
      t.equal(answer.headers.allow, 'GET, HEAD', `${method} ${path}`)
    }
    for (const method of ['GET', 'HEAD'])
      t.equal((await send(t, service, { method, path })).status, 200, `${method} ${path}`)
  }
})

t.test('every operation answers with and without the trailing slash alike', async (t) => {
  for (const operation of operations) {
    const { method, path, id, hasBody } = operation
    const answers = []
    for (const form of bothForms(concretePath(path))) {
      const payload = hasBody ? JSON.stringify(exampleBody(operation)) : undefined
      const headers = { authorization, ...(hasBody && json) }
      const request = { method, path: form, headers, ...(payload !== undefined && { payload }) }
      const { status, body } = await send(t, service, request)
      answers.push({ status, type: body.type, detail: body.detail })
      t.not(body.detail, 'There is no such path.', `${id}: ${form} is a path`)
      t.ok(status < 500, `${id}: ${form} is answered`)
    }
    t.strictSame(answers[1], answers[0], id)
  }
})

t.test('a body that is not plain UTF-8 JSON by its headers is answered 415', async (t) => {
  const refused: Record<string, string>[] = [
    {},
    { 'content-type': '' },
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/xml' },
    { 'content-type': 'application/jsonp' },
    { 'content-type': 'application/merge-patch+json' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'application/json; charset=iso-8859-1' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'application/json;charset="utf-16le"' },
    { 'content-type': 'application/json; x=1; charset=latin1' },
    ...['br', 'deflate', 'zstd', 'x-none', 'gzip, gzip', 'gzip, identity'].map((encoding) => ({
      ...json,
      'content-encoding': encoding,
    })),
  ]
  for (const operation of bodyOperations) {
    const { method, path, id } = operation
    const isDeclared = (type = '') => operation.mediaTypes.includes(type)
    for (const type of refused.filter((headers) => !isDeclared(headers['content-type']))) {
      const payload = Buffer.from(JSON.stringify(exampleBody(operation)))
      const headers = { authorization, ...type }
      const answer = await send(t, service, { method, path: concretePath(path), headers, payload })
      expectProblem(t, answer, 415, 'unsupported-media-type', `${id}, ${JSON.stringify(type)}`)
      for (const taken of operation.mediaTypes) t.ok(answer.body.detail.includes(taken), taken)
    }
  }
})

const contentTypes = [
  'application/json',
  'application/json; charset=latin1',
  'text/csv',
  'text/plain',
  '',
  'application/x-www-form-urlencoded',
]
const bodylessWrites = operations.filter(({ hasBody, method }) => !hasBody && method !== 'GET')

t.test('where no body is taken, the Content-Type of none is not looked at', async (t) => {
  t.ok(bodylessWrites.length >= 3)
  for (const { method, path, id } of bodylessWrites) {
    for (const type of contentTypes) {
      for (const length of [{}, { 'content-length': '0' }]) {
        const headers = { authorization, 'content-type': type, ...length }
        const { status } = await send(t, service, { method, path: concretePath(path), headers })
        t.equal(status, 404, `${id}, ${type}: it is looked for`)
      }
    }
  }
})

t.test('where no body is taken, a body is answered 400, whatever its type', async (t) => {
  for (const { method, path, id } of bodylessWrites) {
    for (const type of contentTypes) {
      const headers = { authorization, 'content-type': type }
      const request = { method, path: concretePath(path), headers, payload: '{}' }
      const answer = await send(t, service, request)
      expectProblem(t, answer, 400, 'invalid-request', `${id}, ${type}`)
      t.equal(answer.body.detail, 'This operation takes no body. Nothing was written.')
    }
  }
})

t.test('where a body is taken, an empty one is answered 400', async (t) => {
  for (const { method, path, id } of bodyOperations) {
    for (const payload of [undefined, '']) {
      const headers = { authorization, ...json }
      const request = { method, path: concretePath(path), headers }
      const answer = await send(t, service, { ...request, ...(payload === '' && { payload }) })
      expectProblem(t, answer, 400, 'malformed-body', id)
    }
  }
})

t.test('UTF-8 JSON is taken however its content type is spelt', async (t) => {
  const types = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf8"',
  ]
  const { token } = await service.newAccount(t)
  const own = { authorization: `jwt ${token}`, 'content-encoding': 'identity' }
  for (const type of types) {
    const headers = { ...own, 'content-type': type }
    const path = '/api/v1/sales_history/bulk_create_or_update'
    const { status } = await send(t, service, { method: 'POST', path, headers, payload: '[]' })
    t.equal(status, 201, type)
  }
})

t.test('a query that is no text is answered 400 by every operation', async (t) => {
  for (const { method, path, id } of operations) {
    for (const query of ['x=%00', 'x=%FF', '%zz']) {
      const request = { method, path: `${concretePath(path)}?${query}`, headers: { authorization } }
      expectProblem(t, await send(t, service, request), 400, 'invalid-request', `${id}, ${query}`)
    }
  }
})

t.test(
  'what is wrong with a request for the documentation or the page is a problem, too',
  async (t) => {
    for (const path of [
      '/docs',
      '/docs/json',
      '/docs/static/swagger-ui.css',
      '/',
      '/page/main.js',
    ]) {
      const answer = await send(t, service, { method: 'GET', path: `${path}?x=%FF` })
      expectProblem(t, answer, 400, 'invalid-request', path)
      t.match(answer.body.errors, [{ pointer: '/query/x' }])
    }
  },
)

const bodies: Record<string, [Record<string, string>, string | Buffer]> = {
  'malformed JSON': [json, '{'],
  'a body over the limit': [json, Buffer.alloc(megabyte + 1, ' ')],
  'another charset': [{ 'content-type': 'application/json; charset=latin1' }, '{}'],
  'a compressed body': [{ ...json, 'content-encoding': 'br' }, '{}'],
}

t.test('a query parameter that the operation does not have is answered 400', async (t) => {
  const unknown = (name: string) => ({ pointer: `/query/${name}`, code: 'unknown_key' })
  for (const { method, path, id, queryNames } of operations) {
    if (queryNames === undefined) continue
    const ask = (query: string, more = {}) =>
      send(t, service, {
        method,
        path: `${concretePath(path)}?${query}`,
        headers: { authorization, ...more },
      })
    const answer = await ask('dry_run=true&nothing=1&nothing=2')
    expectProblem(t, answer, 400, 'invalid-request', id)
    t.match(answer.body.errors, [unknown('dry_run'), unknown('nothing')], id)
    t.equal(answer.body.error_count, 2, id)
    const names = (await ask('a%2Fb~=1&Limit=2&__proto__=1&=&limit%20=1')).body.errors
    const pointers = ['a~1b~0', 'Limit', '__proto__', '', 'limit ']
    t.match(names, pointers.map(unknown), `${id}: names are escaped, and compared as they are`)
  }
})

t.test(
  'a query parameter that the operation does not have is found before the body is read',
  async (t) => {
    const bodiesOf = (mediaTypes: string[]) => mediaTypes.map((type) => ({ 'content-type': type }))
    for (const { method, path, id, mediaTypes } of bodyOperations) {
      for (const type of bodiesOf(mediaTypes)) {
        const request = { method, path: `${concretePath(path)}?nothing=1`, payload: '{"' }
        const answer = await send(t, service, { ...request, headers: { authorization, ...type } })
        t.match(answer, { status: 400, body: { errors: [{ pointer: '/query/nothing' }] } }, id)
      }
    }
  },
)

t.test('the query of a JSON body names no other list', async (t) => {
  const ofLists = bodyOperations.filter(({ queryNames }) => queryNames?.includes('price_list_id'))
  t.equal(ofLists.length, 4)
  for (const operation of ofLists) {
    const { method, path, id } = operation
    const payload = exampleBody(operation)
    const ask = (query: string) =>
      send(t, service, {
        method,
        path: `${concretePath(path)}?${query}`,
        payload,
        headers: { authorization, ...json },
      })
    const answer = await ask('price_list_name=B&price_list_id=1')
    expectProblem(t, answer, 400, 'invalid-request', id)
    t.match(
      answer.body.errors,
      ['price_list_name', 'price_list_id'].map((name) => ({
        pointer: `/query/${name}`,
        code: 'conflicting_keys',
      })),
    )
    const name = encodeURIComponent(payload.price_list_name)
    t.equal((await ask(`price_list_name=${name}`)).body.type, 'price-list-not-found', id)
  }
})

t.test('what is about the service ignores query parameters that it does not have', async (t) => {
  const ofService = operations.filter(({ queryNames }) => queryNames === undefined)
  const paths = ofService.map(({ path }) => path)
  t.ok(paths.includes('/health/live') && paths.includes('/openapi.json'))
  for (const path of [...paths, '/docs', '/docs/static/swagger-ui.css', '/', '/page/main.js']) {
    const headers = path === '/metrics' ? { authorization: `Bearer ${metricsToken}` } : {}
    const answer = await send(t, service, { method: 'GET', path: `${path}?x=1&x=2`, headers })
    t.equal(answer.status, 200, path)
  }
})

t.test('a query parameter given twice is answered 400', async (t) => {
  const texts = { price_list_name: 'a', price_list_id: '1', offset: '1', limit: '1' }
  for (const { method, path, id, queryNames = [] } of operations) {
    for (const name of queryNames) {
      const value = texts[name as keyof typeof texts] ?? 'a'
      const twice = `${concretePath(path)}?${name}=${value}&${name}=${value}`
      const body = method === 'POST' && { payload: '[]' }
      const request = { method, path: twice, headers: { authorization, ...json }, ...body }
      const fault = { pointer: `/query/${name}`, message: 'is given more than once' }
      const answer = await send(t, service, request)
      const faults = answer.body.errors.filter(({ code }: { code: string }) => code !== 'required')
      t.match([answer.status, faults], [400, [fault]], `${id}, ${name}`)
    }
  }
})

t.test('where nothing takes a body, it is not looked at', async (t) => {
  for (const [name, [headers, payload]] of Object.entries(bodies)) {
    const ask = (method: string, path: string) =>
      send(t, service, { method, path, headers: { authorization, ...headers }, payload })
    for (const path of ['/nope', '/api/v1/jobs/%FF/cancel/'])
      expectProblem(t, await ask('POST', path), 404, 'not-found', `${path}, ${name}`)
    for (const path of ['/login/', '/api/v1/jobs/', '/docs'])
      expectProblem(t, await ask('PUT', path), 405, 'method-not-allowed', `${path}, ${name}`)
    t.equal((await ask('GET', '/api/v1/price_list/')).status, 200, name)
    t.equal((await ask('GET', '/health/live')).status, 200, name)
  }
})

t.test('a body over the limit is answered 413 with the limit and its size', async (t) => {
  for (const { method, path, id, scope } of bodyOperations) {
    const headers = { ...json, authorization }
    const request = { method, path: concretePath(path), headers }
    const limit = scope === undefined ? 64 * 1024 : megabyte
    const over = await send(t, service, { ...request, payload: Buffer.alloc(limit + 1, ' ') })
    expectProblem(t, over, 413, 'payload-too-large', id)
    t.match(over.body.detail, new RegExp(`${limit}\\b.*\\b${limit + 1}\\b`), id)
    const at = await send(t, service, { ...request, payload: Buffer.alloc(limit, ' ') })
    expectProblem(t, at, 400, 'malformed-body', `${id}, at the limit`)
  }
})

t.test('more rows than the limit are answered 413 with the limit and their number', async (t) => {
  for (const operation of bodyOperations) {
    const example = exampleBody(operation)
    const rows = Array.isArray(example) ? example : example?.payload
    if (!Array.isArray(rows)) continue
    const four = [0, 1, 2, 3].map((index) => rows[index % rows.length])
    const { method, path, id } = operation
    const headers = { ...json, authorization }
    const sendRows = (payload: unknown[]) => {
      const body = JSON.stringify(Array.isArray(example) ? payload : { ...example, payload })
      return send(t, service, { method, path: concretePath(path), headers, payload: body })
    }
    t.not((await sendRows(four.slice(1))).status, 413, `${id} takes as many as the limit`)
    const answer = await sendRows(four)
    expectProblem(t, answer, 413, 'payload-too-large', id)
    t.match(answer.body.detail, /\b3\b.*\b4\b/, `${id} names limit and number`)
  }
})

t.test('an Accept header without the media type of the answer is answered 406', async (t) => {
  const refused = [
    'text/html',
    'application/xml',
    'image/*',
    'application/json; q=0.0',
    'text/plain, text/csv',
  ]
  const accepted = [
    '*/*',
    'application/*',
    'text/html, application/json;q=0.5',
    'Application/JSON',
    'text/html, */*;q=0.1',
    'application/problem+json',
  ]
  for (const { method, path, id, answers = [] } of operations) {
    if (answers.length === 0 || id === 'readJobEvents') continue
    const request = { method, path: concretePath(path) }
    const isFile = answers.includes('text/csv')
    for (const accept of refused.filter((one) => !(isFile && one.includes('text/csv')))) {
      const answer = await send(t, service, { ...request, headers: { authorization, accept } })
      expectProblem(t, answer, 406, 'not-acceptable', `${id}, ${accept}`)
    }
    for (const accept of accepted) {
      const answer = await send(t, service, { ...request, headers: { authorization, accept } })
      t.not(answer.status, 406, `${id}, ${accept}`)
    }
  }
})

t.test('a path that does not exist is answered 404 with a token and 401 without', async (t) => {
  const paths = [
    '/nope',
    '/api/v1/',
    '/api/v2/prices/get_prices/',
    '/api/v1/prices/get_prices/more',
    '/api/v1/agreement/bulk_create_or_update/1/2',
    '/API/V1/PRICE_LIST/',
    '/.env',
    '/docs/../../package.json',
    `/api/v1/${'x'.repeat(4000)}`,
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const found = await send(t, service, { method, path, headers: { authorization } })
      expectProblem(t, found, 404, 'not-found', `${method} ${path.slice(0, 60)}`)
      const unknown = await send(t, service, { method, path })
      expectProblem(
        t,
        unknown,
        401,
        'unauthorized',
        `${method} ${path.slice(0, 60)} without a token`,
      )
      t.equal(unknown.headers['www-authenticate'], 'jwt')
    }
  }
})

t.test('a path that cannot be decoded or is too long is a problem too', async (t) => {
  for (const path of ['/%zz', '/api/v1/jobs/%c3%28/', '/api/v1/price_list/%', '/api/v1/jobs/%FF']) {
    const answer = await send(t, service, { method: 'GET', path, headers: { authorization } })
    expectProblem(t, answer, 404, 'not-found', path)
    expectProblem(t, await send(t, service, { method: 'GET', path }), 401, 'unauthorized', path)
  }
  const path = `/api/v1/jobs/${'1'.repeat(400)}/`
  const answer = await send(t, service, { method: 'GET', path, headers: { authorization } })
  expectProblem(t, answer, 404, 'not-found', 'an id of 400 digits')
  expectProblem(t, await send(t, service, { method: 'GET', path }), 401, 'unauthorized', 'too long')
})

function bothForms(path: string): string[] {
  const bare = path.replace(/\/$/, '')
  return [bare, `${bare}/`]
}
