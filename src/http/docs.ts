import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import swagger from '@fastify/swagger'
import swaggerUi, { type FastifySwaggerUiOptions } from '@fastify/swagger-ui'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Marked } from 'marked'
import { readContract } from '../contract/document.ts'
import { overloaded } from '../contract/problem.ts'
import { documentationPolicy } from './headers.ts'
import { rejectOtherMethods } from './method-not-allowed.ts'
import { problemsText } from './problems-text.ts'

/** Swagger UI for the contract at /docs, the guide at /docs/guide, and the problem types at /docs/problems. */
export async function registerDocumentation(app: FastifyInstance): Promise<void> {
  const document = readContract()
  // Relative to /docs/json, so that requests and links also work below a path prefix.
  document.servers[0].url = '..'
  await app.register(swagger, { mode: 'static', specification: { document } })
  const urls = new Set<string>()
  await app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, isOpen: true }
      urls.add(route.url)
    })
    docs.addHook('onRequest', boundDocuments())
    docs.addHook('preHandler', async ({ raw }) => {
      // Swagger UI finds its files by the end of the URL, query included.
      raw.url = raw.url?.replace(/[?#].*$/s, '')
    })
    const guide = () => readFileSync(join(import.meta.dirname, '../../docs/guide.md'), 'utf8')
    registerText(docs, '/docs/guide', guide)
    registerText(docs, '/docs/problems', problemsText)
    await docs.register(swaggerUi, swaggerOptions())
  })
  for (const url of urls) rejectOtherMethods(app, url, { methods: ['GET', 'HEAD'], isOpen: true })
}

function swaggerOptions(): FastifySwaggerUiOptions {
  return {
    routePrefix: '/docs',
    // Makes its links relative to /docs.
    indexPrefix: '.',
    staticCSP: documentationPolicy,
    uiConfig: {
      deepLinking: true,
      persistAuthorization: true,
      tryItOutEnabled: true,
      showExtensions: true,
    },
    theme: {
      title: 'Pricewell API',
      css: [{ filename: 'additions.css', content: additionMarks() }],
    },
  }
}

/** A document that its client does not read takes 0.15 MB of memory, and documents need no token. */
const documentsMax = 200

const conditions = ['range', 'if-range', 'if-match', 'if-unmodified-since']

/** Refuses a document while `documentsMax` are being sent. */
function boundDocuments(): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  let sending = 0
  return async ({ headers }, { raw }) => {
    // The contract has no partial or conditional documents: they are sent whole.
    for (const name of conditions) delete headers[name]
    if (raw.destroyed) return
    if (sending >= documentsMax) throw overloaded('Too many documents are being sent.')
    sending++
    raw.once('close', () => sending--)
  }
}

/** CSS that marks the operations outside the core, even when collapsed. */
function additionMarks(): string {
  const marked = Object.values<Record<string, Documented>>(readContract().paths)
    .flatMap((item) => Object.values(item))
    .filter((operation) => operation['x-addition'])
    .map(({ tags, operationId }) => `#operations-${tags[0]?.replaceAll(' ', '_')}-${operationId}`)
  return `:is(${marked.join(', ')}) .opblock-summary-description::after {
  content: "addition";
  margin-inline-start: 10px;
  padding: 1px 8px;
  border: 1px solid currentcolor;
  border-radius: 99px;
  font-size: 11px;
}`
}

interface Documented {
  tags: string[]
  operationId: string
  'x-addition'?: boolean
}

/** Serves a Markdown text as a page without scripts. */
function registerText(docs: FastifyInstance, path: string, read: () => string): void {
  const markdown = read()
  // Rendering takes a tenth of a second, too long for startup.
  let page: string | undefined
  docs.get(path, async ({ url }, reply) => {
    // The page's links are relative, so a trailing slash would break them.
    if (/\/(\?|$)/.test(url)) return reply.redirect(path.replace('/docs', '..'))
    reply.headers({ 'content-security-policy': documentationPolicy })
    page ??= renderText(markdown)
    return reply.type('text/html; charset=utf-8').send(page)
  })
}

/** Renders a Markdown text, whose first line is its title, as a page with a list of its sections. */
function renderText(markdown: string): string {
  const [title = ''] = markdown.replace(/^# (Pricewell )?/, '').split('\n')
  const sections: string[] = []
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = text.toLowerCase().replaceAll(/\W+/g, '-')
        const content = this.parser.parseInline(tokens)
        if (depth === 2) sections.push(`<li><a href="#${id}">${content}</a></li>`)
        return `<h${depth} id="${id}">${content}</h${depth}>\n`
      },
    },
  })
  const article = marked.parse(markdown, { async: false })
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title[0]?.toUpperCase()}${title.slice(1)} · Pricewell</title>
    <link rel="icon" href="../page/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="../page/style.css">
    <link rel="stylesheet" href="../page/guide.css">
  </head>
  <body>
    <a class="skip" href="#main">Skip to content</a>
    <header class="top">
      <div class="bar">
        <a class="brand" href="../"><img src="../page/icon.svg" alt="" width="24" height="24">Pricewell</a>
        <div class="aside">
          <a href="guide">Guide</a>
          <a href="problems">Problems</a>
          <a href="../docs">API</a>
        </div>
      </div>
    </header>
    <div class="guide">
      <nav aria-label="Sections"><ul>${sections.join('')}</ul></nav>
      <main id="main" tabindex="-1">${article}</main>
    </div>
  </body>
</html>
`
}
