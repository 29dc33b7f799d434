/** Calls the service over HTTP. */
export interface Client {
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows what it asked for.
  get(path: string): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows what it asked for.
  post(path: string, body: unknown): Promise<any>
}

/** A client of the service at `url`; a problem is thrown with its detail and its first errors. */
export function createClient(url: string, token?: string): Client {
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token && { authorization: `jwt ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: a JSON body, as the caller knows it.
    const answer: any = await response.json()
    if (response.ok) return answer
    throw new Error(
      `${method} ${path}: ${answer.detail} ${JSON.stringify(answer.errors?.slice(0, 3) ?? '')}`,
    )
  }
  return { get: (path) => send('GET', path), post: (path, body) => send('POST', path, body) }
}
