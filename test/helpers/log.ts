import type { Test } from 'tap'

/** A line of the service's log. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows what it looks for.
export type LogLine = Record<string, any>

/** Everything that this process writes to its standard error while the test runs. */
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
