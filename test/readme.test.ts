import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { sharedService } from './helpers/shared-service.ts'
import { aUser } from './helpers/user.ts'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
const numbers = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']

t.test('the first priced read is had by the commands shown, in as many requests', async (t) => {
  const [, count, block = ''] =
    /\n## The first priced read, in (\w+) requests\n((?: {4}.*\n|\n)+)/.exec(readme) ?? []
  t.equal(count, numbers[block.match(/^ {4}(?:curl|post) /gm)?.length ?? 0])
  const service = await sharedService()
  const { host } = new URL(service.app.listeningOrigin)
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

t.test('OPERATIONS.md has a row for every setting, README.md only for settings there are', (t) => {
  const root = join(import.meta.dirname, '..')
  const example = readFileSync(join(root, '.env.example'), 'utf8')
  const settings = [...example.matchAll(/^# ([A-Z_]+)=/gm)].map(([, name = '']) => name)
  const operations = readFileSync(join(root, 'OPERATIONS.md'), 'utf8')
  t.strictSame(settingsIn(operations), settings.sort())
  t.strictSame(
    settingsIn(readme),
    settingsIn(readme).filter((name) => settings.includes(name)),
  )
  t.end()
})

/** The settings in the first column of the table below `## Settings`, sorted. */
function settingsIn(document: string): string[] {
  const [, section = ''] = document.split(/^## Settings$/m)
  const [table = ''] = section.split(/^## /m)
  const cells = [...table.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => cell.match(/[A-Z_]+/g) ?? []).sort()
}

async function bash(commands: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-c', commands])).stdout
}
