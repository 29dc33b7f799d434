import type { Kind } from './kind.ts'
import { killBackend, terminateBackend } from './kinds/kill-backend.ts'
import { killService } from './kinds/kill-service.ts'
import { killWorker } from './kinds/kill-worker.ts'
import { stopFast, stopImmediately } from './kinds/restart-postgres.ts'

/** Every way to break things. */
export const kinds: Kind[] = [
  killService,
  killWorker,
  stopFast,
  stopImmediately,
  terminateBackend,
  killBackend,
]
