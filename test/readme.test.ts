import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startTestService } from './helpers/service.ts'
import { aUser } from './helpers/user.ts'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
const numbers = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']

t.test('the first priced read is had by the commands shown, in as many requests', async (t) => {
  const [, count, block = ''] =
    /\n## The first priced read, in (\w+) requests\n((?: {4}.*\n|\n)+)/.exec(readme) ?? []
  t.equal(count, numbers[block.match(/^ {4}(?:curl|post) /gm)?.length ?? 0])
  const service = await startTestService(t)
  const { host } = new URL(await service.app.listen({ port: 0 }))
  const { email, password } = await aUser(service)
  const commands = block
    .replaceAll('localhost:3000', host)
    .replace('admin@example.com', email)
    .replace('<the password>', password)
  const [login = '', rest = ''] = commands.split('export TOKEN=<the token>')
  const { token } = JSON.parse(await bash(login))
  const answers = await bash(`TOKEN=${token}\n${rest}`)
  const [price] = JSON.parse(answers.trim().split('\n').at(-1) ?? '')
  t.match(price, {
    code: '85123A',
    country: 'France',
    active_price: 2.55,
    active_margin: 56.862745,
  })
})

async function bash(commands: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-c', commands])).stdout
}
