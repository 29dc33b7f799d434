import t from 'tap'
import { startTestService, type TestService } from './service.ts'

let service: Promise<TestService> | undefined

/** The service that the test files of this process share. Each test makes an account of its own. */
export function sharedService(): Promise<TestService> {
  service ??= startTestService(t)
  return service
}
