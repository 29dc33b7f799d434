import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { namesTag } from '../contract/if-match.ts'
import { pageHeaders } from './headers.ts'
import { rejectOtherMethods } from './method-not-allowed.ts'

const folder = join(import.meta.dirname, '../page')

/** Media types of the page's files; files of other kinds in the folder are not served. */
const mediaTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Serves the web page at `/` and its files at `/page/`, without a token. The files are read once, at startup. */
export function registerPage(app: FastifyInstance): void {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => extname(name) in mediaTypes)) {
    const url = file === 'index.html' ? '/' : `/page/${file.replaceAll('\\', '/')}`
    registerFile(app, url, join(folder, file))
  }
}

function registerFile(app: FastifyInstance, url: string, file: string): void {
  const content = readFileSync(file)
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  const headers = { ...pageHeaders, etag }
  app.get(url, { config: { isOpen: true } }, async (request, reply) => {
    reply.headers(headers)
    if (namesTag(request.headers['if-none-match'] ?? '', etag)) return reply.code(304).send()
    return reply.type(mediaTypes[extname(file)] ?? '').send(content)
  })
  rejectOtherMethods(app, url, { methods: ['GET', 'HEAD'], isOpen: true })
}
