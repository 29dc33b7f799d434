import { isDeepStrictEqual } from 'node:util'
import { parse as parseCsv } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { createAccount } from '../../src/accounts/create-account.ts'
import { type Operation, operations, readContract } from '../../src/contract/document.ts'
import { type ProblemType, problemTypes } from '../../src/contract/problem.ts'
import type { TestResponse } from '../helpers/conformant.ts'
import {
  answerExamples,
  type BodyExample,
  bodyExamples,
  examplePath,
  fileExamples,
  fileQuery,
} from '../helpers/examples.ts'
import { exampleBody, send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

// biome-ignore lint/suspicious/noExplicitAny: a YAML document.
type Document = any

const contract: Document = readContract()
const service = await sharedService()

/**
 * About jobs, for which the examples load too few products, plans, which no example makes, the contract itself, or what ids
 * name that are new each time.
 */
const isUnlikeTheDay = ({ id }: Operation) =>
  /Job|Plan|Contract(Yaml|Json)|delete(Products|Agreements)/.test(id)

const isUndo = ({ id }: Operation) => id === 'revertPriceList'
const isRemoval = ({ id }: Operation) => /^(remove|delete)/.test(id)
/** The token that the others use ends with the password. */
const isEnd = ({ id }: Operation) => id === 'changePassword'

/** What the examples call the named things that have an id in their path. */
const names: Record<string, string> = {
  '/api/v1/price_list/': 'Retail 2026',
  '/api/v1/agreement/': 'Frame contract 2026',
}

t.test("the examples are a first day's work", async (t) => {
  const login = operations.filter(({ id }) => id === 'login')
  const writes = operations.filter(({ hasBody, isRead, scope }) => hasBody && scope && !isRead)
  const reads = operations.filter((one) => one.isRead && !isUnlikeTheDay(one))
  const ofTheDay = writes.filter((one) => !isUnlikeTheDay(one))
  // They undo and remove what the reads show.
  const last = [isUndo, isRemoval, isEnd].flatMap((isOne) => ofTheDay.filter(isOne))
  const first = ofTheDay.filter((one) => !last.includes(one))
  for (const operation of [...login, ...first, ...reads, ...last]) {
    await t.test(operation.id, async (t) => {
      for (const { mediaType, name, body } of inOrderOfTheDay(operation)) {
        const answer = await call(operation, body, mediaType)
        t.equal(answer.status, operation.status, mediaType, { body: answer.body })
        if (mediaType === 'application/json') expectExample(t, operation, name, answer)
      }
      for (const { mediaType, text } of fileExamples(operation))
        await expectFile(t, operation, mediaType, text)
    })
  }
})

t.test('every answer is shown by an example', async (t) => {
  for (const operation of operations) {
    const content: Document[] = Object.values(answerOf(operation).content ?? {})
    for (const shown of content) t.ok('example' in shown || 'examples' in shown, operation.id)
  }
})

t.test('every problem example says what its type says', async (t) => {
  const {
    FileAccepted: _,
    PlanAccepted: __,
    PlanMade: ___,
    ...problems
  } = contract.components.responses
  for (const [name, { content }] of Object.entries<Document>(problems)) {
    const shown = shownIn(content['application/problem+json'])
    t.not(shown.length, 0, `${name} has an example`)
    for (const { type, title, status } of shown) {
      t.strictSame({ status, title }, problemTypes[type as ProblemType], `${name}: ${type}`)
    }
  }
})

/** The list that the other examples name comes before further ones. */
function inOrderOfTheDay(operation: Operation): BodyExample[] {
  return bodyExamples(operation).sort(
    (a, b) => Number(b.name === 'first') - Number(a.name === 'first'),
  )
}

let token = ''

async function call(
  operation: Operation,
  body: unknown,
  type: string,
  accept = '*/*',
): Promise<TestResponse> {
  const isFile = typeof body === 'string'
  const query = isFile ? fileQuery(operation) : requiredQuery(operation)
  const path = (await concretePath(operation.path)) + query
  const headers = { authorization: `jwt ${token}`, 'content-type': type, accept }
  if (operation.id === 'login')
    await createAccount(service.url, { account: 'A', ...(body as User) })
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const payload = body === undefined ? {} : { payload: text, headers }
  const answer = await send(t, service, { method: operation.method, path, headers, ...payload })
  if (operation.id === 'login') token = answer.body.token
  return answer
}

/** The example of a query that a call needs. */
function requiredQuery(operation: Operation): string {
  const { parameters = [] } = contract.paths[operation.path][operation.method.toLowerCase()]
  const isNeeded = parameters.some((one: Document) => one.in === 'query' && one.required)
  return isNeeded ? new URL(examplePath(operation), 'http://localhost').search : ''
}

interface User {
  email: string
  password: string
}

async function concretePath(path: string): Promise<string> {
  const [collection = ''] = path.split('{id}')
  if (collection === path) return path
  const name = names[collection]
  const found = name === undefined ? collection : `${collection}?name=${encodeURIComponent(name)}`
  const headers = { authorization: `jwt ${token}` }
  const { body } = await send(t, service, { method: 'GET', path: found, headers })
  return path.replace('{id}', body.results.at(-1).id).replace('{revision}', '2')
}

function answerOf({ path, method, status }: Operation): Document {
  return contract.paths[path][method.toLowerCase()].responses[status]
}

function shownIn({ example, examples }: Document): Document[] {
  if (examples) return Object.values<Document>(examples).map(({ value }) => value)
  return example === undefined ? [] : [example]
}

/** The answer is one of the examples, but for ids, times and the token, which are new each time. */
function expectExample(
  t: Test,
  operation: Operation,
  name: string | undefined,
  { body }: TestResponse,
): void {
  const shown = answerExamples(operation)
  const example = shown.find((one) => one.name === name) ?? shown[0]
  t.strictSame(masked('', body), masked('', example?.value ?? ''), 'answered like the example')
}

/** Each row of the file that is shown is one of the answer, with the same columns. */
async function expectFile(
  t: Test,
  operation: Operation,
  mediaType: string,
  text: string,
): Promise<void> {
  const answer = await call(operation, exampleBody(operation), 'application/json', mediaType)
  const rowsOf = (file: string): unknown[] =>
    mediaType === 'text/csv'
      ? parseCsv(file, { columns: true })
      : file
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
  const answered = rowsOf(answer.body).map((row) => masked('', row))
  for (const row of rowsOf(text).map((row) => masked('', row)))
    t.ok(
      answered.some((one) => isDeepStrictEqual(one, row)),
      mediaType,
      { row, answered },
    )
}

const isNew = /^(id|pk|\w+_id|at|\w+_at|from|to|next|latest_update|token|key|password|state)$/

/** The value with what is new each time replaced by its type. */
function masked(key: string, value: unknown): unknown {
  if (isNew.test(key) && key !== 'transaction_id') return typeof value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return value.map((one) => masked(Number.isInteger(one) ? 'id' : '', one))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, masked(name, one)]))
}
