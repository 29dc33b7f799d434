import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'

/** A process that takes so long to close, and says when it does; it is up when this answers. */
async function aProcess(closingMs: number, body = '') {
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { closeOnce } from '${join(import.meta.dirname, '../src/shutdown.ts')}'
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
  const until = async (text: string) => {
    while (!output.includes(text)) await once(child.stdout, 'data')
  }
  await until('up')
  const end = async () => {
    const [code] = await exited
    return [code, output]
  }
  return { child, until, end }
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
  const { child, until, end } = await aProcess(9000)
  child.kill('SIGTERM')
  await until('closing')
  await sleep(1500)
  child.kill('SIGTERM')
  t.strictSame(await end(), [1, 'up\nclosing by SIGTERM\n'])
})

t.test('an error that nobody has caught closes, too, and ends it with 1', async (t) => {
  const { end } = await aProcess(0, `setTimeout(() => { throw new Error('broken') }, 100)`)
  t.strictSame(await end(), [1, 'up\nclosing by broken\nclosed\n'])
})

/** Loads a word beyond its memory, which Node learns by SIGSEGV. */
const trap = `
    const bytes = [
      [0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1],
      [7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 32, 0, 40, 2, 0, 11],
    ].flat()
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(bytes)))
    try {
      exports.f(0x7ffffff0)
    } catch (error) {
      console.log(error.message)
    }
    process.kill(process.pid, 'SIGTERM')`

t.test('a fault of the program is left to Node, and repeats itself not for ever', async (t) => {
  const { child, end } = await aProcess(0, trap)
  const giveUp = setTimeout(() => child.kill('SIGKILL'), 10_000)
  t.teardown(() => clearTimeout(giveUp))
  t.strictSame(await end(), [0, 'up\nmemory access out of bounds\nclosing by SIGTERM\nclosed\n'])
})
