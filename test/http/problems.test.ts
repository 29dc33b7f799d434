import t from 'tap'
import { readContract } from '../../src/contract/document.ts'
import { problemTypes } from '../../src/contract/problem.ts'
import { send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const path = '/docs/problems'
const { ProblemType, ErrorCode } = readContract().components.schemas

t.test('each problem type of the contract has a section: status, title, what to do', async (t) => {
  const { status, headers, body: text } = await send(t, service, { method: 'GET', path })
  t.match({ status, type: headers['content-type'] }, { status: 200, type: /^text\/html/ })
  t.notMatch(text, /<script|\son\w+=|style=|undefined/)
  const sections = text.split('<h2 id="').slice(1)
  const ids = sections.map((section: string) => section.slice(0, section.indexOf('"')))
  t.strictSame(ids.toSorted(), [...ProblemType.enum, 'errors-of-rows-and-parameters'].sort())
  for (const section of sections.slice(0, -1)) {
    const id = section.slice(0, section.indexOf('"')) as keyof typeof problemTypes
    const { status, title } = problemTypes[id]
    t.match(section, `<strong>${status} ${title}.</strong>`, id)
    t.equal(section.split('<p>').length, 3, `${id}: what it means, what to do`)
  }
})

t.test('each error code of rows is explained', async (t) => {
  const { body: text } = await send(t, service, { method: 'GET', path })
  for (const code of ErrorCode.enum) t.match(text, `<li><code>${code}</code>: `, code)
})

t.test('a problem leads to its section, also below a path prefix', async (t) => {
  const missing = { method: 'GET', path: '/api/v1/none/' } as const
  const { headers, body } = await send(t, service, missing)
  t.equal(headers.link, `</docs/problems#${body.type}>; rel="help"`)
  const below = { 'x-forwarded-prefix': '/pricing' }
  const prefixed = await send(t, service, { ...missing, headers: below })
  t.equal(prefixed.headers.link, `</pricing/docs/problems#${body.type}>; rel="help"`)
})

t.test('below a trailing slash it leads to the page', async (t) => {
  const { status, headers } = await send(t, service, { method: 'GET', path: `${path}/` })
  t.match({ status, location: headers.location }, { status: 302, location: '../problems' })
})
