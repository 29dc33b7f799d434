import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { operations } from '../../src/contract/document.ts'

t.test('every operation has a test file of its name', async (t) => {
  const files = readdirSync(join(import.meta.dirname, '..'), { recursive: true, encoding: 'utf8' })
  const names = new Set(files.map((file) => basename(file)))
  for (const { id } of operations) {
    const name = `${id.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.test.ts`
    t.ok(names.has(name), `${id}: ${name}`)
  }
})
