import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type Operation, routeUrl } from '../contract/document.ts'
import { Problem } from '../contract/problem.ts'

/** Every method that Node parses, except CONNECT, which has no path. */
const allMethods = METHODS.filter((method) => method !== 'CONNECT')

/** Responds with 405 to methods that a path's operations do not use. */
export function rejectUndeclaredMethods(app: FastifyInstance, served: Operation[]): void {
  for (const [path, present] of Map.groupBy(served, ({ path }) => path)) {
    const methods = new Set(
      present.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    )
    const isOpen = present.every(({ scope }) => scope === undefined)
    rejectOtherMethods(app, routeUrl(path), { methods: [...methods], isOpen })
  }
}

/** Responds with 405 and `Allow` to all methods of a path except `methods`. */
export function rejectOtherMethods(
  app: FastifyInstance,
  url: string,
  { methods, isOpen }: { methods: string[]; isOpen: boolean },
): void {
  const allow = methods.join(', ')
  for (const method of allMethods)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  app.route({
    method: allMethods.filter((method) => !methods.includes(method)),
    url,
    config: { isOpen },
    // In the handler, a body would be refused for its media type first, so this is a hook.
    onRequest: () =>
      Promise.reject(
        new Problem('method-not-allowed', `This path takes ${allow}.`, { headers: { allow } }),
      ),
    handler: () => undefined,
  })
}
