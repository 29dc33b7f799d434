import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'

const fetchTimeoutMs = 2000
/** Keys are asked for again when they are older: one that the provider has dropped must go. */
const refreshMs = 600_000
/** While the provider is away, it is asked again this often, by whichever request comes then. */
const retryMs = 30_000
/** After a fetch that failed there is none for a moment, however many requests need one. */
const pauseMs = 1000
/** Many keys. An answer that goes on and on is none, and would fill the memory until its time is over. */
const bytesMax = 1024 * 1024

/**
 * The identity provider's keys. They are fetched at their first use, when they are 10 minutes old, and for a token whose
 * key is not among them (at most every 30 seconds). Those that are held serve on while the provider is away; a token
 * whose key is not held fails then (`isOutage`).
 */
export function providerKeys(url: URL): JWTVerifyGetKey {
  let failedAt = Number.NEGATIVE_INFINITY
  let refreshAt = 0
  const remote = createRemoteJWKSet(url, {
    timeoutDuration: fetchTimeoutMs,
    cacheMaxAge: Number.POSITIVE_INFINITY,
    [customFetch]: (address, options) =>
      performance.now() - failedAt < pauseMs
        ? Promise.reject(new TypeError('the last fetch failed a moment ago'))
        : fetch(address, options).then(boundedBody),
  })
  return async (header, token) => {
    if (!remote.jwks()) refreshAt = performance.now() + refreshMs
    else if (performance.now() >= refreshAt) {
      refreshAt = performance.now() + retryMs
      await remote.reload().then(
        () => (refreshAt = performance.now() + refreshMs),
        () => undefined,
      )
    }
    return remote(header, token).catch((cause) => {
      if (isOutage(cause) && performance.now() - failedAt >= pauseMs) failedAt = performance.now()
      throw cause
    })
  }
}

async function boundedBody(response: Response): Promise<Response> {
  if (response.status !== 200 || !response.body) return response
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new Error('it is too large for a set of keys')
      chunks.push(chunk)
    }
  } catch (cause) {
    throw new TypeError('the answer was not fetched to its end', { cause })
  }
  return new Response(Buffer.concat(chunks))
}

/** The keys could not be fetched, or what came is not a set of keys. */
export function isOutage(cause: unknown): boolean {
  const code = (cause as { code?: string }).code ?? ''
  return (
    ['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'].includes(code) ||
    (cause instanceof TypeError && /fetch/.test(cause.message))
  )
}
