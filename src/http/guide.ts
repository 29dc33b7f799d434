import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { Marked } from 'marked'
import { documentationPolicy } from './headers.ts'

/** Serves docs/guide.md at /docs/guide as a page without scripts, rendered at the start. */
export function registerGuide(docs: FastifyInstance): void {
  const page = renderGuide(readFileSync(join(import.meta.dirname, '../../docs/guide.md'), 'utf8'))
  docs.get('/docs/guide', async ({ url }, reply) => {
    // The page's links are relative, so a trailing slash would break them.
    if (/\/(\?|$)/.test(url)) return reply.redirect('../guide')
    reply.headers({ 'content-security-policy': documentationPolicy })
    return reply.type('text/html; charset=utf-8').send(page)
  })
}

/** Renders a Markdown text as a page with a list of its sections. */
function renderGuide(markdown: string): string {
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
    <title>Guide · Pricewell</title>
    <link rel="icon" href="../page/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="../page/style.css">
    <link rel="stylesheet" href="../page/guide.css">
  </head>
  <body>
    <a class="skip" href="#main">Skip to content</a>
    <header class="top">
      <div class="bar">
        <a class="brand" href="../"><img src="../page/icon.svg" alt="" width="24" height="24">Pricewell</a>
        <div class="aside"><a href="../docs">API</a></div>
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
