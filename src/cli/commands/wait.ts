import { InvalidArgumentError } from '@commander-js/extra-typings'
import { answer, type Program } from '../program.ts'
import { startBar } from '../progress-bar.ts'
import { openClient } from '../session.ts'

/** `pricewell wait`. */
export function addWait(program: Program): void {
  program
    .command('wait')
    .description('Follows a background job to its end. Fails with 1 unless its work is done.')
    .argument('<id>', 'the id of the job', wholeNumber)
    .addHelpText('after', '\nExample:\n  pricewell wait 7 && echo published')
    .action(async (id, _options, command) => {
      const options = command.optsWithGlobals()
      const bar = startBar(`Job ${id}`, options)
      try {
        const onProgress = ({ finished, total }: { finished: number; total: number }) =>
          bar.show(finished, total)
        const job = await openClient(options).waitForJob(id, { onProgress })
        bar.stop()
        const handled = job.resource_type === 'file' ? 'rows' : 'products'
        answer(options, job, `Job ${id} is done: ${job.progress.finished} ${handled}.`)
      } finally {
        bar.stop()
      }
    })
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It is a whole number, as `pricewell jobs` shows it.')
  return value
}
