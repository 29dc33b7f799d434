import { readdirSync, readFileSync } from 'node:fs'
import { METHODS } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { pageHeaders, protectiveHeaders } from '../../src/http/headers.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const folder = join(import.meta.dirname, '../../src/page')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.(html|css|js|svg)$/.test(name),
)
const get = (path: string, headers: Record<string, string> = {}) =>
  send(t, service, { method: 'GET', path, headers })
const pathOf = (file: string) => (file === 'index.html' ? '/' : `/page/${file}`)

t.test('the page and each of its files are answered as they are, without a token', async (t) => {
  const types = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }
  t.ok(files.length > 10, `${files.length} files`)
  for (const file of files) {
    const { status, headers, body } = await get(pathOf(file), { accept: 'image/webp' })
    t.equal(status, 200, file)
    t.equal(body, readFileSync(join(folder, file), 'utf8'), file)
    const type = types[file.split('.').at(-1) as keyof typeof types]
    t.match(headers['content-type'], new RegExp(`^${type.replace('+', '\\+')}`), file)
    t.match(headers, { ...protectiveHeaders, ...pageHeaders }, file)
  }
})

t.test('the page may use its own files only, and no text becomes markup', async (t) => {
  const policy = String((await get('/')).headers['content-security-policy'])
  t.match(policy, /^default-src 'none';/)
  t.notMatch(policy, /unsafe|data:|https?:|\*/)
  for (const rule of [
    "script-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ])
    t.ok(policy.split('; ').includes(rule), rule)
})

t.test('the page is without inline scripts, inline styles and addresses of others', async (t) => {
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8')
    t.notMatch(text, /<script>|<style|\sstyle="|\son\w+="/, file)
    const addresses = [...text.matchAll(/https?:\/\/[^\s'"`)]+/g)].map(([address]) => address)
    t.strictSame(
      addresses.filter((address) => address !== 'http://www.w3.org/2000/svg'),
      [],
      file,
    )
    t.notMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/, file)
  }
})

t.test('a file that one has is not sent again', async (t) => {
  const { headers } = await get('/')
  const again = await get('/', { 'if-none-match': String(headers.etag) })
  t.strictSame([again.status, again.body], [304, ''])
  t.equal(again.headers['content-security-policy'], headers['content-security-policy'])
  for (const tag of [`W/${headers.etag}`, `"other", ${headers.etag}`])
    t.equal((await get('/', { 'if-none-match': tag })).status, 304, 'as proxies and caches send it')
  t.equal((await get('/', { 'if-none-match': '"other"' })).status, 200)
})

t.test('HEAD answers the headers alone', async (t) => {
  for (const path of ['/', '/page/main.js']) {
    const { headers } = await get(path)
    const head = await send(t, service, { method: 'HEAD', path })
    t.strictSame([head.status, head.body], [200, ''], path)
    t.equal(head.headers['content-length'], headers['content-length'], path)
    t.equal(head.headers.etag, headers.etag, path)
  }
})

t.test('every other method is answered 405 with the methods there are', async (t) => {
  const others = METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method))
  for (const path of ['/', '/page/style.css']) {
    for (const method of others) {
      const answer = await send(t, service, { method, path })
      expectProblem(t, answer, 405, 'method-not-allowed', `${method} ${path}`)
      t.equal(answer.headers.allow, 'GET, HEAD', `${method} ${path}`)
    }
  }
})

t.test('what is no file of the page is no open path', async (t) => {
  const paths = [
    '/page/',
    '/page/index.html',
    '/page/tsconfig.json',
    '/page/views/',
    '/page/../package.json',
    '/page/%2e%2e/app.ts',
    '/index.html',
    '/favicon.ico',
  ]
  for (const path of paths) expectProblem(t, await get(path), 401, 'unauthorized', path)
})
