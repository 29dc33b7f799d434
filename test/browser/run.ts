import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findBrowser } from '../helpers/browser.ts'

/** Runs the tests in a real browser: `npm run test:browser`. Arguments name files. */
if (!findBrowser()) {
  console.error(`No browser found. These tests need Chromium or Chrome:

    Debian, Ubuntu   apt-get install chromium
    Fedora           dnf install chromium
    macOS            brew install --cask google-chrome

or name one that is elsewhere: CHROMIUM=/path/to/chrome npm run test:browser`)
  process.exit(1)
}
const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test/browser', name))
if (process.argv.length === 2) process.argv.push(...files)
await import('../run.ts')
