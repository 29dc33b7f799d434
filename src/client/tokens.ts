/** Where the token of a request comes from. */
export interface Tokens {
  current(): Promise<string | undefined>
  /** Another token than the one that was refused; undefined if there is none. */
  renewed(refused: string | undefined): Promise<string | undefined>
}

/** Always this token, or none. */
export function givenToken(token: string | undefined): Tokens {
  return { current: async () => token, renewed: async () => undefined }
}

/** Asks for a token when one is needed first, keeps it, and asks again, once for all callers, when it is refused. */
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
    // Another caller may have forgotten it meanwhile, and asked.
    if (known && (await known) === refused && kept === known) kept = undefined
    const token = await current()
    return token === refused ? undefined : token
  }
  return { current, renewed }
}
