import { addAccount } from './commands/account.ts'
import { addExport } from './commands/export.ts'
import { addJobs } from './commands/jobs.ts'
import { addLoad } from './commands/load.ts'
import { addLogin } from './commands/login.ts'
import { addPrices } from './commands/prices.ts'
import { addServe } from './commands/serve.ts'
import { addWait } from './commands/wait.ts'
import { report, UsageFault } from './faults.ts'
import { asksForJson, createProgram } from './program.ts'
import { writeWholePieces } from './whole-output.ts'

writeWholePieces()

// What reads our output may have seen enough of it: the work goes on, and the exit code is that of the work.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') end(new UsageFault(`Standard output cannot be written (${code}).`))
})

const program = createProgram()
for (const add of [
  ...[addLogin, addLoad, addExport, addPrices],
  ...[addJobs, addWait, addAccount, addServe],
])
  add(program)
try {
  await program.parseAsync()
} catch (fault) {
  end(fault)
}

function end(fault: unknown): void {
  process.exitCode = report(fault, asksForJson)
}
