import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

/** Asks on standard error and reads lines from standard input, with or without a terminal. */
interface Prompt {
  /** Returns the answer; empty at the end of the input. */
  ask(question: string): Promise<string>
  /** Like `ask`, without echo. */
  askSecret(question: string): Promise<string>
  close(): void
}

/** Starts reading standard input; `close` lets the process end. */
export function openPrompt(): Prompt {
  let isSecret = false
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      if (!isSecret) process.stderr.write(chunk)
      done()
    },
  })
  const terminal = process.stdin.isTTY === true
  const lines = createInterface({ input: process.stdin, output, terminal })
  lines.on('SIGINT', () => process.exit(130))
  // The iterator keeps lines that arrive early.
  const answers = lines[Symbol.asyncIterator]()
  const ask = async (question: string) => {
    if (terminal) process.stderr.write(question)
    const { value } = await answers.next()
    return value ?? ''
  }
  const askSecret = async (question: string) => {
    isSecret = true
    const answer = await ask(question)
    isSecret = false
    if (terminal) process.stderr.write('\n')
    return answer
  }
  return { ask, askSecret, close: () => lines.close() }
}
