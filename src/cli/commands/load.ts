import { Argument } from '@commander-js/extra-typings'
import { Problem, type RowError, type Schemas } from '../../client/index.ts'
import { Failed, UsageFault } from '../faults.ts'
import { type FeedFile, openFeedFile, rejectMisnamed } from '../feed-file.ts'
import { type FeedKind, feeds } from '../kinds.ts'
import { planText } from '../plan-text.ts'
import { answer, type Program, type Shared } from '../program.ts'
import { type Load, type Loaded, sendFile, writeRejects } from '../send-file.ts'
import { number, paint, printable, rowCount, startBar } from '../terminal.ts'

interface LoadOptions extends Shared {
  list?: string | undefined
  rejects?: string | undefined
  job?: true | undefined
  plan?: true | undefined
}

/** `pricewell load`. */
export function addLoad(program: Program): void {
  program
    .command('load')
    .description(
      'Loads files of rows: CSV, NDJSON or JSON, also with .gz. A file is loaded whole or not at all.',
    )
    .addArgument(
      new Argument('<kind>', 'what the rows are').choices(Object.keys(feeds) as FeedKind[]),
    )
    .argument('<file...>', 'the files, in the order in which they are loaded')
    .option('--list <name>', 'the price list of rows, prices and dynamic-attributes')
    .option(
      '--rejects <file>',
      'where the rejected rows of a file are written, each with what is wrong',
    )
    .option('--job', 'have a background job load it, which goes on when this command is ended')
    .option(
      '--plan',
      'write nothing but a plan, which `apply` applies: of rows, prices, promotions',
    )
    .addHelpText(
      'after',
      `
Rows are products (code and extensions) that are added to the price list; the job that adds many is followed, and so is
that of --job, or of a file that is large for the service: it goes on when the command is ended, and \`wait\` follows it.
After a load that broke off, run it again: what is there already is set to what the file says, and never doubled.
A refused file does not keep the others from being loaded.

Examples:
  pricewell load sales 2026-*.csv.gz
  pricewell load prices --list 'Retail 2026' prices.csv --rejects rejects.csv
  pricewell load prices --list 'Retail 2026' prices.csv --plan`,
    )
    .action(async (kind, names, _options, command) => {
      const options = command.optsWithGlobals()
      rejectMisuse(kind, names, options)
      const files = names.map(openFeedFile)
      for (const file of files) rejectMisnamed(options.rejects ?? '', file)
      let refused = 0
      for (const file of files) if (!(await loadOne(kind, file, options))) refused++
      if (refused > 0 && files.length === 1) throw new Failed(`${names[0]} was refused.`)
      if (refused > 0) throw new Failed(`Refused: ${refused} of ${files.length} files.`)
    })
}

function rejectMisuse(kind: FeedKind, names: string[], options: LoadOptions): void {
  const { list, rejects, job, plan } = options
  const { ofList } = feeds[kind]
  if (ofList && list === undefined) throw new UsageFault(`Say with --list whose ${kind} these are.`)
  if (!ofList && list !== undefined) throw new UsageFault(`--list has no meaning for ${kind}.`)
  if (plan && !('hasPlans' in feeds[kind]))
    throw new UsageFault(`--plan has no meaning for ${kind}.`)
  if (rejects !== undefined && names.length > 1)
    throw new UsageFault('--rejects goes with one file at a time.')
  if (rejects !== undefined && job)
    throw new UsageFault('--rejects has no meaning for a job: load the file without --job.')
}

/** Loads a file and reports the result. Returns false if it was refused. */
async function loadOne(kind: FeedKind, file: FeedFile, options: LoadOptions): Promise<boolean> {
  const { list } = options
  const startedAt = Date.now()
  const bar = startBar(file.name, options)
  const onBytes = (bytes: number) => bar.show(bytes, file.bytes, speed(bytes, startedAt))
  const { path } = feeds[kind]
  const load: Load = { ...options, path, list, file, onBytes }
  try {
    tellLoaded(load, await sendFile(load).finally(bar.stop), startedAt, options)
    return true
  } catch (error) {
    if (!isOfFile(error)) throw error
    const rejects = error.type === 'invalid-request' ? options.rejects : undefined
    const loaded = rejects === undefined ? undefined : await writeRejects(load, rejects)
    if (loaded) tellLoaded(load, loaded, startedAt, options)
    else tellRefused(load, error, rejects, options)
    return loaded !== undefined
  }
}

function tellLoaded(
  { file }: Load,
  loaded: Loaded | Schemas['Plan'],
  startedAt: number,
  options: LoadOptions,
): void {
  if ('summary' in loaded) {
    answer(options, { file: file.name, plan: loaded }, planText(loaded))
    return
  }
  const seconds = (Date.now() - startedAt) / 1000
  const told = { file: file.name, ...loaded, seconds }
  answer(options, told, describeLoaded(file.name, loaded, seconds))
}

function tellRefused(
  load: Load,
  problem: Problem,
  rejects: string | undefined,
  options: LoadOptions,
): void {
  const { type, detail, errors, errorCount: error_count } = problem
  const file = load.file.name
  if (options.json) answer(options, { file, type, detail, error_count, errors }, '')
  else console.error(describeRefused(file, problem, rejects))
}

/** Whether the error is about this file only. */
function isOfFile(error: unknown): error is Problem {
  const types = ['invalid-request', 'malformed-file', 'malformed-body', 'payload-too-large']
  return error instanceof Problem && types.includes(error.type)
}

function speed(bytes: number, startedAt: number): string {
  const megabytes = bytes / 1024 / 1024
  return `  ${(megabytes / ((Date.now() - startedAt) / 1000)).toFixed(1)} MB/s`
}

/** The most bad rows that people are shown. */
const shownMax = 20

function describeLoaded(file: string, loaded: Loaded, seconds: number): string {
  const { rows, created, updated } = loaded
  const isUnknown = created === undefined || updated === undefined
  const news = isUnknown ? '' : `, ${number(created)} new, ${number(updated)} updated`
  const rate = number(Math.round(rows / Math.max(seconds, 0.001)))
  return `${file}: ${rowCount(rows)}${news} in ${seconds.toFixed(1)} s (${rate} rows/s).`
}

/** Why a file was refused, with the first bad lines. */
function describeRefused(
  file: string,
  { detail, errors, errorCount }: Problem,
  rejects: string | undefined,
): string {
  const more = errorCount - Math.min(errors.length, shownMax)
  return [
    paint('red', printable(`${file}: ${detail}`)),
    ...errors.slice(0, shownMax).map((error) => printable(`  ${place(error)}${error.message}`)),
    ...(more > 0 && errors.length > 0 ? [`  and ${number(more)} more`] : []),
    ...(rejects ? [`${rejects} has the rejected rows, each with what is wrong.`] : []),
  ].join('\n')
}

function place({ line, field }: RowError): string {
  const parts = [...(line === undefined ? [] : [`line ${line}`]), ...(field ? [field] : [])]
  return parts.length > 0 ? `${parts.join(', ')}: ` : ''
}
