import { registerHooks } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'

/** As in .taprc. */
const fileTimeoutMs = 600_000

const tests = new Map<string, Test>()

/** The test that a file imports as `tap`. */
export const testOf = (url: string): Test | undefined => tests.get(url)

registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL = '' } = context
    return specifier === 'tap' && tests.has(parentURL)
      ? { url: `tap-of:${parentURL}`, shortCircuit: true }
      : next(specifier, context)
  },
  load: (url, context, next) => {
    if (!url.startsWith('tap-of:')) return next(url, context)
    const file = JSON.stringify(url.slice('tap-of:'.length))
    const source = `import { testOf } from ${JSON.stringify(import.meta.url)}\nexport default testOf(${file})`
    return { format: 'module', source, shortCircuit: true }
  },
})

/** Runs test files in order in this process, each as a subtest with the file's name: starting a process takes 1.5 s. */
export async function runInOneProcess(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const { href } = pathToFileURL(file)
    // Each file has as much time as a process of its own would.
    t.setTimeout(fileTimeoutMs)
    await t.test(relative(process.cwd(), fileURLToPath(href)), async (test) => {
      tests.set(href, test)
      await import(href)
    })
  }
}
