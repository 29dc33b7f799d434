import t from 'tap'
import { documentationPolicy } from '../../src/http/headers.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const path = '/docs/guide'

t.test('the guide is a page without script, under the policy of the documentation', async (t) => {
  const { status, headers, body: text } = await send(t, service, { method: 'GET', path })
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/html; charset=utf-8')
  t.equal(headers['content-security-policy'], documentationPolicy)
  t.match(text, '<h1 id="pricewell-guide">Pricewell guide</h1>')
  t.notMatch(text, /<script|\son\w+=|style=/)
})

t.test('each section is linked', async (t) => {
  const { body: text } = await send(t, service, { method: 'GET', path })
  const sections = [...text.matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id)
  const links = [...text.matchAll(/<li><a href="#([^"]+)"/g)].map(([, id]) => id)
  t.ok(sections.length > 5)
  t.strictSame(links, sections)
})

t.test('below a trailing slash it leads to the page, whose links are relative', async (t) => {
  for (const slash of ['/docs/guide/', '/docs/guide/?x=1']) {
    const { status, headers } = await send(t, service, { method: 'GET', path: slash })
    t.match({ status, location: headers.location }, { status: 302, location: '../guide' }, slash)
  }
  const headers = { 'x-forwarded-prefix': '/pricing' }
  const below = await send(t, service, { method: 'GET', path: '/docs/problems/', headers })
  t.equal(below.headers.location, '../problems', 'below a path prefix, too')
  t.equal((await send(t, service, { method: 'GET', path: '/docs/guide?x=1' })).status, 200)
})

t.test('it can only be read', async (t) => {
  expectProblem(
    t,
    await send(t, service, { method: 'POST', path }),
    405,
    'method-not-allowed',
    path,
  )
})
