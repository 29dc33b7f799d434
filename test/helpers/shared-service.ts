import t from 'tap'
import { startTestService, type TestService } from './service.ts'

let service: Promise<TestService> | undefined

/** The service shared by the test files of this process, listening; each test creates its own account. */
export function sharedService(): Promise<TestService> {
  service ??= startListening()
  return service
}

async function startListening(): Promise<TestService> {
  const service = await startTestService(t)
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  return service
}
