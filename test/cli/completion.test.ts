import t from 'tap'
import { commandLine } from '../helpers/command-line.ts'

const { run, shell } = commandLine(t)

/** What Bash offers for a line whose last word is being typed. */
async function offered(line: string): Promise<string[]> {
  const words = line.split(' ').map((word) => `'${word}'`)
  const typed = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}`
  const { stdout, stderr } = await shell(
    `eval "$(pricewell completion bash)"; ${typed}; _pricewell; printf '%s\\n' "\${COMPREPLY[@]}"`,
  )
  t.equal(stderr, '')
  return stdout.trim().split('\n')
}

t.test('Bash completes commands, their words and options', async (t) => {
  t.strictSame(await offered('pricewell li'), ['lists'])
  t.strictSame(await offered('pricewell load competi'), ['competitor-prices'])
  t.strictSame(await offered('pricewell load prices --li'), ['--list'])
  t.strictSame(await offered('pricewell keys re'), ['revoke'])
  t.strictSame(await offered('pricewell keys create --sc'), ['--scopes'])
  t.strictSame(await offered('pricewell jobs --js'), ['--json'])
})

t.test('each shell has a script with all commands', async (t) => {
  for (const name of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await run('completion', name)
    t.strictSame([code, stderr], [0, ''])
    for (const word of ['completion', 'create-list', '--decimal-comma', 'dynamic-attributes'])
      t.match(stdout, word, name)
  }
  t.equal((await run('completion', 'tcsh')).code, 2)
})
