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
