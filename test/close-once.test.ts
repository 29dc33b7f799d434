import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'

/** A process that takes so long to close, and says when it does; it is up when this answers. */
async function aProcess(closingMs: number, body = '') {
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { closeOnce } from '${join(import.meta.dirname, '../src/close-once.ts')}'
    closeOnce(10_000, async ({ signal, err }) => {
      console.log('closing by', signal ?? err.message)
      await sleep(${closingMs})
      console.log('closed')
    })
    setInterval(() => {}, 1000)
    console.log('up')
    ${body}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => (output += piece))
  const exited = once(child, 'exit')
  while (!output.includes('up')) await once(child.stdout, 'data')
  const end = async () => {
    const [code] = await exited
    return [code, output]
  }
  return { child, end }
}

t.test('closes, and ends in good order', async (t) => {
  const { child, end } = await aProcess(0)
  child.kill('SIGTERM')
  t.strictSame(await end(), [0, 'up\nclosing by SIGTERM\nclosed\n'])
})

t.test('a signal that comes twice, from the terminal and by npm, closes once', async (t) => {
  const { child, end } = await aProcess(300)
  child.kill('SIGINT')
  await sleep(100)
  child.kill('SIGINT')
  t.strictSame(await end(), [0, 'up\nclosing by SIGINT\nclosed\n'])
})

t.test('a second signal later ends it at once', async (t) => {
  const { child, end } = await aProcess(9000)
  child.kill('SIGTERM')
  await sleep(1500)
  child.kill('SIGTERM')
  t.strictSame(await end(), [1, 'up\nclosing by SIGTERM\n'])
})

t.test('an error that nobody has caught closes, too, and ends it with 1', async (t) => {
  const { end } = await aProcess(0, `setTimeout(() => { throw new Error('broken') }, 100)`)
  t.strictSame(await end(), [1, 'up\nclosing by broken\nclosed\n'])
})
