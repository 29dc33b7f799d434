import t from 'tap'
import { startTestService, type TestService } from './service.ts'

let service: Promise<TestService> | undefined

/** The service shared by the test files of this process; each test creates its own account. */
export function sharedService(): Promise<TestService> {
  service ??= startTestService(t)
  return service
}
