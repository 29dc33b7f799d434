import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type Operation, routeUrl } from '../contract/document.ts'
import { Problem } from '../contract/problem.ts'

/** Every method that Node can read, but CONNECT, which is no request for a path. */
const allMethods = METHODS.filter((method) => method !== 'CONNECT')

/** The paths of the operations refuse the methods that no operation of theirs has. */
export function rejectUndeclaredMethods(app: FastifyInstance, served: Operation[]): void {
  for (const [path, present] of Map.groupBy(served, ({ path }) => path)) {
    const methods = new Set(
      present.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    )
    const isOpen = present.every(({ scope }) => scope === undefined)
    rejectOtherMethods(app, routeUrl(path), { methods: [...methods], isOpen })
  }
}

/** A path with a method that it does not have is 405, not 404. */
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
    // A body would be refused for its type before the method is.
    onRequest: () =>
      Promise.reject(
        new Problem('method-not-allowed', `This path takes ${allow}.`, { headers: { allow } }),
      ),
    handler: () => undefined,
  })
}
