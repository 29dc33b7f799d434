import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Operation, operations } from '../src/contract/document.ts'
import { expectConformant, type TestResponse } from './helpers/conformant.ts'
import { bodyExamples, examplePath } from './helpers/examples.ts'

const demo = join(import.meta.dirname, '../examples/demo/demo.ts')
const child = spawn(process.execPath, [demo], { env: { ...process.env, PORT: '0' } })
const output = await outputOf(child)
const [, url = ''] = /(http:\S+)\/docs/.exec(output) ?? []
const [, token = ''] = /^(jwt \S+)$/m.exec(output) ?? []

/**
 * Needs a job that runs (see below), the operator's token, a plan that is applied by another example, and a user whom another
 * example deletes; one ends the token of the others.
 */
const isSpecial = new Set([
  ...['cancelJob', 'readMetrics', 'discardPlan', 'resetPassword', 'changePassword'],
])

t.test('loads the shop over HTTP, reads prices and stays up', async (t) => {
  t.match(output, /line cut off in the file\s+│ 1 /)
  t.match(output, /Catalog .* 2844\/2844/)
  t.match(output, /Job: products of Retail 2026 .* 2649\/2649/)
  t.match(output, /Sales .* 14594\/14594/)
  t.match(output, /'22423' │ 'United Kingdom' │ 'retail' +│ 25.49/)
  const { body } = await send(t, 'GET', '/api/v1/sales_history/?code=22423')
  t.match(body, { count: 61 })
})

t.test('every example of the contract runs as it stands', async (t) => {
  for (const operation of operations.filter(({ id }) => !isSpecial.has(id))) {
    for (const { mediaType, name, body } of bodyExamples(operation)) {
      const { method, id, status } = operation
      const path = examplePath(operation)
      let answer = await send(t, method, path, body, mediaType)
      // What an example before it has begun may be under way: it is to be sent again.
      while (answer.status === 503) answer = await send(t, method, path, body, mediaType)
      // The demonstration has what this example creates, as its summary says.
      const expected = id === 'createPriceLists' && name === 'first' ? 409 : status
      t.equal(answer.status, expected, `${id} ${name ?? ''}`, { answer })
    }
  }
})

t.test('only a running job can be cancelled, so one is started for that example', async (t) => {
  const { path, method, status } = operations.find(({ id }) => id === 'cancelJob') as Operation
  const sync = { price_list_name: 'Everything' }
  const jobs: number[] = []
  // Jobs of one list wait for each other: the last one has not begun.
  for (let count = 0; count < 4; count++)
    jobs.push((await send(t, 'POST', '/api/v1/prices/sync_with_catalog/', sync)).body.id)
  const answer = await send(t, method, path.replace('{id}', String(jobs.at(-1))))
  t.equal(answer.status, status)
})

t.test('its help starts nothing, nor do arguments that it does not have', async (t) => {
  for (const [argument, exitCode] of [
    ['--help', 0],
    ['-h', 0],
    ['--port', 2],
  ] as const) {
    const folder = mkdtempSync(join(tmpdir(), 'pricewell-left-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const asked = spawn(process.execPath, [demo, argument], {
      env: { ...process.env, TMPDIR: folder },
    })
    const [told] = await Promise.all([text(asked.stdout), once(asked, 'exit')])
    t.equal(asked.exitCode, exitCode)
    t.match(told, /PORT \(3000\) and HOST/)
    t.strictSame(readdirSync(folder), [])
  }
})

t.test('a port that is taken is told, and leaves nothing behind', async (t) => {
  const env = { ...process.env, PORT: new URL(url).port }
  const second = spawn(process.execPath, [demo], { env })
  const [told] = await Promise.all([text(second.stderr), once(second, 'exit')])
  t.equal(second.exitCode, 1)
  t.match(
    told,
    /^Cannot start:\n- listen EADDRINUSE.*: another program listens there: .* set PORT\n$/,
  )
})

t.test('Ctrl-C while it starts leaves no folder and no PostgreSQL', async (t) => {
  for (const begun of [/^pricewell-demo-/, /^pricewell-(?!demo-)/]) {
    const folder = mkdtempSync(join(tmpdir(), 'pricewell-left-'))
    chmodSync(folder, 0o777)
    const env = { ...process.env, PORT: '0', TMPDIR: folder }
    const starting = spawn(process.execPath, [demo], { env, detached: true })
    const exited = once(starting, 'exit')
    while (!readdirSync(folder).some((name) => begun.test(name))) await sleep(1)
    // A terminal sends it to all that it has started.
    process.kill(-(starting.pid ?? 0), 'SIGINT')
    t.strictSame(await exited, [0, null])
    t.strictSame(readdirSync(folder), [])
    rmSync(folder, { recursive: true })
  }
})

t.test('Ctrl-C under npm, which passes it on a second time, leaves nothing behind', async (t) => {
  child.kill('SIGINT')
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
})

async function outputOf({ stdout, stderr }: ChildProcessWithoutNullStreams): Promise<string> {
  let text = ''
  stdout.setEncoding('utf8').on('data', (piece) => (text += piece))
  stderr.setEncoding('utf8').on('data', (piece) => (text += piece))
  while (!text.includes('Ctrl-C') && child.exitCode === null) await once(stdout, 'data')
  return text
}

/** The answer is checked against the contract. */
async function send(
  t: Test,
  method: string,
  path: string,
  body?: unknown,
  mediaType = 'application/json',
): Promise<TestResponse> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: token, ...(body !== undefined && { 'content-type': mediaType }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const headers = Object.fromEntries(response.headers)
  const text = await response.text()
  const isJson = headers['content-type']?.includes('json') && text !== ''
  const answer = { status: response.status, headers, body: isJson ? JSON.parse(text) : text }
  expectConformant(t, method, path, answer)
  return answer
}
