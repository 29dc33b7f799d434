import type { Kind } from './kind.ts'
import { deadlock } from './kinds/deadlock.ts'
import { diskFull, journalDiskFull } from './kinds/disk-full.ts'
import { cancelStatements, killBackend, terminateBackend } from './kinds/kill-backend.ts'
import { killService } from './kinds/kill-service.ts'
import { killWorker } from './kinds/kill-worker.ts'
import { latePostgres } from './kinds/late-postgres.ts'
import { lockHeld } from './kinds/lock-held.ts'
import { pausePostgres } from './kinds/pause-postgres.ts'
import { pauseWorker } from './kinds/pause-worker.ts'
import { cutCommits, cutConnections, stallConnections } from './kinds/proxy.ts'
import { rollingRestart, startTogether } from './kinds/replicas.ts'
import { stopFast, stopImmediately } from './kinds/restart-postgres.ts'

/** All kinds of faults. */
export const kinds: Kind[] = [
  killService,
  killWorker,
  pauseWorker,
  stopFast,
  stopImmediately,
  latePostgres,
  pausePostgres,
  terminateBackend,
  killBackend,
  cancelStatements,
  cutConnections,
  stallConnections,
  cutCommits,
  lockHeld,
  deadlock,
  diskFull,
  journalDiskFull,
  startTogether,
  rollingRestart,
]
