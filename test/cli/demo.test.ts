import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'

const demo = join(import.meta.dirname, '../../src/cli/demo.ts')

t.test('loads the shop over HTTP, reads prices, stays up, and leaves nothing behind', async (t) => {
  const child = spawn(process.execPath, [demo], { env: { ...process.env, PORT: '0' } })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (output += text))
  while (!output.includes('Ctrl-C') && child.exitCode === null) await once(child.stdout, 'data')
  t.match(output, /line cut off in the file\s+│ 1 /)
  t.match(output, /Catalog .* 2843\/2843/)
  t.match(output, /Job: products of Main countries .* 2648\/2648/)
  t.match(output, /Sales .* 14594\/14594/)
  t.match(output, /'22423' │ 'United Kingdom' │ 'retail' +│ 25.49/)
  const [, url = ''] = /(http:\S+)\/docs/.exec(output) ?? []
  const [, token = ''] = /^(jwt \S+)$/m.exec(output) ?? []
  const sales = await fetch(`${url}/api/v1/sales_history/?code=22423`, {
    headers: { authorization: token },
  })
  t.match(await sales.json(), { count: 61 })
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
})
