import { metricsToken } from '../../../helpers/service.ts'
import { freshName } from '../values.ts'
import { type FuzzOperation, Mismatch, type Plan } from '../world.ts'

const open = (path: string): Plan => ({ call: { method: 'GET', path }, status: 200 })

function readMetrics(token: string, status: number): Plan {
  const headers = { authorization: `Bearer ${token}` }
  return { call: { method: 'GET', path: '/metrics', headers }, status }
}

/** Operations without an account. */
export const serviceOperations: FuzzOperation[] = [
  {
    id: 'login',
    weight: 0.2,
    valid: ({ user }) => ({
      call: { method: 'POST', path: '/login/', body: user },
      status: 200,
      check: ({ body }) => {
        if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(body.token)) throw new Mismatch('a token was expected')
      },
    }),
    faulty: ({ draw }) => ({
      call: {
        method: 'POST',
        path: '/login/',
        body: { email: draw(freshName), password: 'wrong' },
      },
      status: 401,
      type: 'unauthorized',
    }),
  },
  {
    id: 'readMetrics',
    weight: 0.2,
    valid: () => readMetrics(metricsToken, 200),
    faulty: () => readMetrics(`${metricsToken}0`, 401),
  },
  { id: 'readLiveness', weight: 0.2, valid: () => open('/health/live') },
  { id: 'readReadiness', weight: 0.2, valid: () => open('/health/ready') },
  { id: 'readContractYaml', weight: 0.1, valid: () => open('/openapi.yaml') },
  { id: 'readContractJson', weight: 0.1, valid: () => open('/openapi.json') },
]
