import { isDoubtful, type PatientSend } from './retry.ts'

/** Where a client takes its token from. */
export interface Tokens {
  current(): Promise<string | undefined>
  /** A token other than the refused one; undefined if there is none. */
  renewed(refused: string | undefined): Promise<string | undefined>
}

/** Always this token, or none. */
export function givenToken(token: string | undefined): Tokens {
  return { current: async () => token, renewed: async () => undefined }
}

/**
 * Requests a token when it is first needed and keeps it; requests another, once for all callers, when it is refused.
 */
export function askedTokens(ask: () => string | Promise<string>): Tokens {
  let kept: Promise<string> | undefined
  const current = () => {
    kept ??= Promise.resolve(ask()).catch((error: unknown) => {
      kept = undefined
      throw error
    })
    return kept
  }
  const renewed = async (refused: string | undefined) => {
    const known = kept
    // Another caller may already have requested a new one.
    if (known && (await known) === refused && kept === known) kept = undefined
    const token = await current()
    return token === refused ? undefined : token
  }
  return { current, renewed }
}

/** Adds a token, renewed once if it is refused, to every request, and an Idempotency-Key to every POST. */
export function authorized(send: PatientSend, tokens: Tokens): PatientSend {
  return async (request, init) => {
    const { headers } = request
    if (request.method === 'POST' && !headers.has('idempotency-key'))
      headers.set('idempotency-key', crypto.randomUUID())
    const token = await tokens.current()
    if (token) headers.set('authorization', `jwt ${token}`)
    const response = await send(request.clone(), init)
    if (response.status !== 401) return response
    const mayHaveActed = isDoubtful(response)
    const renewed = await tokens.renewed(token).catch((error: unknown) => {
      // The error of a login would say that nothing was written.
      if (!mayHaveActed) throw error
    })
    if (renewed === undefined) return response
    headers.set('authorization', `jwt ${renewed}`)
    await response.body?.cancel()
    return send(request, { ...init, mayHaveActed })
  }
}
