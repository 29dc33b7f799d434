import type { Test } from 'tap'

// biome-ignore lint/suspicious/noExplicitAny: each test knows what it looks for.
export type LogLine = Record<string, any>

/** Captures standard error of this process until the test ends. */
export function captureLog(t: Test): { text: () => string; lines: () => LogLine[] } {
  const { write } = process.stderr
  let text = ''
  process.stderr.write = ((chunk: string | Uint8Array) => {
    text += chunk
    return true
  }) as typeof write
  t.teardown(() => {
    process.stderr.write = write
  })
  const lines = () =>
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  return { text: () => text, lines }
}
