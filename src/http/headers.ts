import type { FastifyReply, FastifyRequest } from 'fastify'

/** Of every answer that does not bring its own: prices are nobody else's, and an answer of the API is no page. */
export const protectiveHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Sets the headers of every answer. */
export function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ ...protectiveHeaders, 'x-request-id': request.id })
}

/** Swagger UI is served whole by this service; it needs styles and pictures in its text, no script in it. */
export const documentationPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** The page's own files only: no scripts or styles in its text, no texts made into markup, no frames. */
export const pageHeaders = {
  'cache-control': 'no-cache',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
}
