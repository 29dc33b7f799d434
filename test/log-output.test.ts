import { Writable } from 'node:stream'
import t from 'tap'
import { logTo } from '../src/log-output.ts'

t.test(
  'lines that nobody reads are lost from some megabytes on, and later ones are not',
  async (t) => {
    let read = ''
    let isStopped = true
    let readOn = () => {}
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        read += chunk
        if (isStopped) readOn = done
        else done()
      },
    })
    const log = logTo(output)
    const line = `${'x'.repeat(1023)}\n`
    for (let count = 0; count < 20_000; count++) log.write(line)
    t.ok(output.writableLength > 1_000_000, `${output.writableLength} bytes are kept`)
    t.ok(output.writableLength < 8_000_000, `no more than ${output.writableLength} bytes are kept`)
    isStopped = false
    const drained = new Promise((resolve) => output.once('drain', resolve))
    readOn()
    await drained
    log.write('later\n')
    t.match(read, /x\nlater\n$/)
  },
)
