import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

/** Folders of src, lowest first: a file imports its own folder and lower ones only. Folders of one line do not know each other. */
const layers = [
  ['lib'],
  ['database'],
  ['telemetry'],
  ['contract'],
  ['accounts'],
  ['jobs'],
  ['catalog'],
  ['plans'],
  ['competitor-prices', 'sales-history', 'agreements', 'promotions'],
  ['price-lists'],
  ['prices'],
  ['feeds'],
  ['http'],
  ['cli'],
]

const src = join(import.meta.dirname, '../src')
const imports = /(?:from|import\()\s*'([^']+)'/g

/** The files of a folder of src, each with what it imports. */
function filesOf(folder: string): { file: string; imported: string[] }[] {
  const files = readdirSync(join(src, folder), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => {
      const text = readFileSync(join(src, folder, file), 'utf8')
      return {
        file: join(folder, file),
        imported: [...text.matchAll(imports)].map(([, path = '']) => path),
      }
    })
}

/** The folder of src that a file imports; undefined: a package, or what stands beside the folders. */
function folderOf(file: string, path: string): string | undefined {
  if (!path.startsWith('.')) return undefined
  const [folder = '', ...rest] = join(file, '..', path).split('/')
  return folder !== '..' && rest.length > 0 ? folder : undefined
}

t.test('a folder imports itself and lower layers only', async (t) => {
  for (const [layer, folders] of layers.entries()) {
    for (const folder of folders) {
      const allowed = new Set([folder, 'client', ...layers.slice(0, layer).flat()])
      if (folder !== 'cli') allowed.delete('client')
      for (const { file, imported } of filesOf(folder))
        for (const path of imported) {
          const target = folderOf(file, path)
          if (target !== undefined) t.ok(allowed.has(target), `${file} imports ${path}`)
        }
    }
  }
})

t.test('every folder of src has a layer, but for the client and the page', async (t) => {
  const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const known = [...layers.flat(), 'client', 'page']
  t.strictSame(folders.map(({ name }) => name).sort(), known.sort())
})

t.test('only http knows Fastify, and nothing knows the files that start the service', async (t) => {
  for (const folder of layers.flat())
    for (const { file, imported } of filesOf(folder))
      for (const path of imported) {
        if (folder !== 'http') t.notMatch(path, /^@?fastify/, file)
        if (folder !== 'cli') t.notMatch(path, /(^|\/)(server|service)\.ts$/, file)
      }
})

t.test(
  'the client runs in browsers, too: it imports what is generated and one package',
  async (t) => {
    for (const { file, imported } of filesOf('client'))
      for (const path of imported)
        t.match(path, /^(\.\/|\.\.\/\.\.\/generated\/|openapi-fetch$)/, `${file} imports ${path}`)
  },
)

t.test('no files import each other, directly or through others, types included', async (t) => {
  const files = new Map(filesOf('').map(({ file, imported }) => [file, imported]))
  const reachedFrom = (start: string) => {
    const reached = new Set<string>()
    const next = [start]
    for (let from = next.pop(); from !== undefined; from = next.pop())
      for (const path of files.get(from) ?? []) {
        const to = join(from, '..', path)
        if (!files.has(to) || reached.has(to)) continue
        reached.add(to)
        next.push(to)
      }
    return reached
  }
  t.strictSame(
    [...files.keys()].filter((file) => reachedFrom(file).has(file)),
    [],
  )
})
