import { spawnSync } from 'node:child_process'
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

t.test('the words of an option are completed', async (t) => {
  t.strictSame(await offered('pricewell plans --status op'), ['open'])
  t.strictSame(await offered('pricewell load sales - --format nd'), ['ndjson'])
  t.strictSame(await offered('pricewell plans --status open --li'), ['--list'])
})

const withoutZsh = spawnSync('zsh', ['--version']).error ? 'zsh is not installed' : false

t.test('Zsh runs its script', { skip: withoutZsh }, async (t) => {
  const typed = 'COMP_WORDS=(pricewell plans --status op); COMP_CWORD=3'
  const zsh = `eval "$(cat script)"; ${typed}; emulate ksh -c _pricewell; print -r -- $COMPREPLY`
  const { stdout, stderr } = await shell(`pricewell completion zsh > script; zsh -fc '${zsh}'`)
  t.equal(stderr, '')
  t.match(stdout, /^open /)
})
