import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type Operation, routeUrl } from '../contract/document.ts'
import { Problem } from '../contract/problem.ts'

/** Every method that Node reads, except CONNECT, which has no path. */
const allMethods = METHODS.filter((method) => method !== 'CONNECT')

/** Answers 405 for the methods that no operation of a path has. */
export function rejectUndeclaredMethods(app: FastifyInstance, served: Operation[]): void {
  for (const [path, present] of Map.groupBy(served, ({ path }) => path)) {
    const methods = new Set(
      present.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    )
    const isOpen = present.every(({ scope }) => scope === undefined)
    rejectOtherMethods(app, routeUrl(path), { methods: [...methods], isOpen })
  }
}

/** Answers 405 with `Allow` for all other methods of a path. */
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
    // In the handler, a body would be refused for its media type first.
    onRequest: () =>
      Promise.reject(
        new Problem('method-not-allowed', `This path takes ${allow}.`, { headers: { allow } }),
      ),
    handler: () => undefined,
  })
}
