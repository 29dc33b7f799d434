import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'

const fetchTimeoutMs = 2000
/** Older keys are fetched again, so that a key dropped by the provider stops working. */
const maxAgeMs = 600_000
/** Tokens with unknown keys cause no more fetches than one in this time; a new key is refused as long. */
const cooldownMs = 5000
/** The pause after a failed fetch, however many requests need a key. */
const pauseMs = 1000

/**
 * The keys of the identity provider, fetched at first use, again when they are 10 minutes old, and for a token whose
 * key is not among them (at most every 5 seconds). While the provider is down, the last fetched keys keep working; a
 * token with another key fails (`isOutage`).
 */
export function providerKeys(url: URL): JWTVerifyGetKey {
  let failedAt = Number.NEGATIVE_INFINITY
  const isPaused = () => performance.now() - failedAt < pauseMs
  const remote = createRemoteJWKSet(url, {
    timeoutDuration: fetchTimeoutMs,
    cacheMaxAge: maxAgeMs,
    cooldownDuration: cooldownMs,
    [customFetch]: (address, options) =>
      isPaused()
        ? Promise.reject(new TypeError('the last fetch failed a moment ago'))
        : fetch(address, options),
  })
  return async (header, token) => {
    try {
      return await remote(header, token)
    } catch (cause) {
      if (!isOutage(cause)) throw cause
      if (!isPaused()) failedAt = performance.now()
      const held = remote.jwks()
      if (!held) throw cause
      return createLocalJWKSet(held)(header, token).catch(() => {
        throw cause
      })
    }
  }
}

/** Whether the error means that the keys could not be fetched, or that the response is not a key set. */
export function isOutage(cause: unknown): boolean {
  const code = (cause as { code?: string }).code ?? ''
  return (
    ['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'].includes(code) ||
    (cause instanceof TypeError && /fetch/.test(cause.message))
  )
}
