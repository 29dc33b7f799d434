import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { readContract } from './contract.ts'
import { documentationPolicy } from './headers.ts'

/** Swagger UI at /docs, over the contract as it is written. */
export async function registerDocumentation(app: FastifyInstance): Promise<void> {
  await app.register(swagger, { mode: 'static', specification: { document: readContract() } })
  await app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, isOpen: true }
    })
    await docs.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: documentationPolicy,
      uiConfig: { deepLinking: true, persistAuthorization: true, tryItOutEnabled: true },
    })
  })
}
