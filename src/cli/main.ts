import { fstatSync, writeSync } from 'node:fs'
import { addAccount } from './commands/account.ts'
import { addApply } from './commands/apply.ts'
import { addCluster } from './commands/cluster.ts'
import { addCompletion } from './commands/completion.ts'
import { addDelete } from './commands/delete.ts'
import { addExport } from './commands/export.ts'
import { addCancel, addJobs, addWait } from './commands/jobs.ts'
import { addKeys } from './commands/keys.ts'
import { addCreateList, addLists, addSync } from './commands/lists.ts'
import { addLoad } from './commands/load.ts'
import { addLogin, addLogout } from './commands/login.ts'
import { addPassword } from './commands/password.ts'
import { addDiscard, addPlan, addPlans } from './commands/plans.ts'
import { addPosition } from './commands/position.ts'
import { addHistory, addPrices } from './commands/prices.ts'
import { addRemove } from './commands/remove.ts'
import { addReprice } from './commands/reprice.ts'
import { addDiff, addLog, addRevert } from './commands/revisions.ts'
import { addSchema } from './commands/schema.ts'
import { addUsers } from './commands/users.ts'
import { report, UsageFault } from './faults.ts'
import { asksForJson, type Program, program } from './program.ts'

writeWholePieces()

// The reader of standard output may close it early; the work continues and decides the exit code.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') end(new UsageFault(`Standard output cannot be written (${code}).`))
})

const lists = [addLists, addCreateList, addSync, addRemove, addLog, addDiff, addRevert]
const prices = [addPrices, addHistory, addPosition]
const rows = [addSchema, addLoad, addExport, addDelete]
const plans = [addReprice, addPlans, addPlan, addApply, addDiscard]
const jobs = [addJobs, addWait, addCancel]
const people = [addKeys, addUsers, addPassword, addAccount]
const commands = [addLogin, addLogout, ...rows, ...lists, ...prices, ...plans, ...jobs, ...people]
const others = [addCluster, addServe, addCompletion]
for (const add of [...commands, ...others]) add(program)
try {
  await program.parseAsync()
} catch (fault) {
  end(fault)
}

function end(fault: unknown): void {
  process.exitCode = report(fault, asksForJson)
}

/**
 * Makes standard output to a file write each chunk whole or fail: Node drops the rest of a write cut short by a full
 * disk.
 */
function writeWholePieces(): void {
  if (!fstatSync(1).isFile()) return
  process.stdout._write = (chunk: Buffer, _encoding, done) => {
    try {
      for (let at = 0; at < chunk.length; ) at += writeSync(1, chunk, at)
      done()
    } catch (error) {
      done(error as Error)
    }
  }
}

function addServe(program: Program): void {
  program
    .command('serve')
    .description('Runs the service here, on a PostgreSQL of its own unless DATABASE_URL names one.')
    .addHelpText(
      'after',
      '\nThe environment configures it (PORT, DATABASE_URL, ...); OPERATIONS.md lists it.\n\nExample:\n  PORT=8080 pricewell serve',
    )
    .action(async () => {
      await import('../server.ts')
    })
}
