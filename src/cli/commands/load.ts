import { Argument, Option } from '@commander-js/extra-typings'
import type { Schemas } from '../../client/index.ts'
import type { BadCell } from '../bad-cells.ts'
import { changeHeaders } from '../change-headers.ts'
import { Failed } from '../faults.ts'
import { type FeedFile, plainShape, rejectTarget } from '../feed-file.ts'
import { type FeedKind, feeds } from '../kinds.ts'
import { type LoadOptions, rejectInvalidOptions } from '../load-options.ts'
import { collect, wholeNumber } from '../option-values.ts'
import { planText } from '../plan-text.ts'
import { character, oneColumn, prepareFiles } from '../prepare-files.ts'
import { answer, type Program, program } from '../program.ts'
import { isFileRefused, overrideAdvice, tellRefused } from '../refused-file.ts'
import { type Load, type Loaded, sendFile, writeRejects } from '../send-file.ts'
import { number, rowCount, startBar } from '../terminal.ts'

export function addLoad(program: Program): void {
  program
    .command('load')
    .description(
      'Loads files of rows: CSV, NDJSON or JSON, also with .gz. A file is loaded whole or not at all.',
    )
    .addArgument(
      new Argument('<kind>', 'what the rows are').choices(Object.keys(feeds) as FeedKind[]),
    )
    .argument('<file...>', 'the files, in the order in which they are loaded; - is standard input')
    .option('--list <name>', 'the price list of rows, prices and dynamic-attributes')
    .option(
      '--rejects <file>',
      'where to write the rejected rows of a file, each with its error; - is standard output',
    )
    .option('--job', 'have a background job load it, which continues if this command ends')
    .option('--plan', 'only make a plan, which `apply` applies (rows, prices, promotions)')
    .option('--note <text>', 'why, for the log (rows, prices) or the plan (also promotions)')
    .option('--override <reason>', 'lets prices pass the guardrails; needs the scope override')
    .option('--skip-stale', 'leaves stale rows out (prices, competitor-prices)')
    .addOption(
      new Option('--format <format>', 'of standard input; csv when left out').choices([
        ...(['csv', 'ndjson'] as const),
      ]),
    )
    .option('--rows <number>', 'refuses a file with any other number of rows', wholeNumber)
    .option('--delimiter <character>', 'what separates the columns; tab for a tab', character)
    .option('--decimal-comma', 'decimals have a comma, as in 1.234,50')
    .option('--column <from=to>', "the file's and the service's name; may be repeated", oneColumn)
    .option('--without <column>', 'leaves a column of the file out; may be repeated', collect)
    .addHelpText(
      'after',
      `
Rows are products (code and extensions) to add to the price list. A job does the work for many rows, with --job, and
for files that are large for the service; the command follows it. If the command ends, the job continues: see \`wait\`.
If a load breaks off, run it again: existing rows are set to what the file says, never duplicated.
A refused file does not keep the others from being loaded. Standard input must end with a line feed: if a program
fails midway, its last line is cut off or --rows finds that rows are missing, and then nothing is loaded.

Examples:
  pricewell load sales 2026-*.csv.gz
  pricewell load prices --list 'Retail 2026' prices.csv --rejects rejects.csv
  pricewell load prices --list 'Retail 2026' prices.csv --plan
  pricewell load prices --list 'Retail 2026' preise.csv --delimiter ';' --decimal-comma --column Artikel=code
  erp-export sales | pricewell load sales - --rows 25000`,
    )
    .action(async (kind, names, options) => {
      rejectInvalidOptions(kind, names, options)
      const files = await prepareFiles(kind, names, options)
      if (options.rejects !== undefined)
        for (const file of files) rejectTarget(options.rejects, file)
      let refused = 0
      for (const file of files) if (!(await loadOne(kind, file, options))) refused++
      if (refused > 0 && files.length === 1) throw new Failed(`${names[0]} was refused.`)
      if (refused > 0) throw new Failed(`Refused: ${refused} of ${files.length} files.`)
    })
}

/** Loads a file and reports the result. Returns false if it was refused. */
async function loadOne(kind: FeedKind, file: FeedFile, options: LoadOptions): Promise<boolean> {
  const { list } = options
  const startedAt = Date.now()
  const bar = startBar(file.name, program.opts())
  const onBytes = (bytes: number) => {
    if (file.bytes > 0) bar.show(Math.min(bytes, file.bytes), file.bytes, speed(bytes, startedAt))
  }
  const { path } = feeds[kind]
  const load: Load = { ...options, path, list, file, headers: changeHeaders(options), onBytes }
  try {
    tellLoaded(load, await sendFile(load).finally(bar.stop), startedAt)
    return true
  } catch (error) {
    if (!isFileRefused(error)) throw error
    const hasRows = error.errors.some(({ row }) => row !== undefined)
    const rejects = hasRows ? options.rejects : undefined
    const loaded = rejects === undefined ? undefined : await writeRejects(load, rejects)
    if (loaded) tellLoaded(load, loaded, startedAt)
    else
      await tellRefused(file, error, (errors) => [
        ...aboutRejects(file, rejects),
        ...advice(error.type, errors),
      ])
    return loaded !== undefined
  }
}

function tellLoaded({ file }: Load, loaded: Loaded | Schemas['Plan'], startedAt: number): void {
  if ('summary' in loaded) {
    answer({ file: file.name, plan: loaded }, planText(loaded))
    return
  }
  const seconds = (Date.now() - startedAt) / 1000
  const told = { file: file.name, ...loaded, seconds }
  answer(told, describeLoaded(file.name, loaded, seconds))
}

function speed(bytes: number, startedAt: number): string {
  const megabytes = bytes / 1024 / 1024
  return `  ${(megabytes / ((Date.now() - startedAt) / 1000)).toFixed(1)} MB/s`
}

function describeLoaded(file: string, loaded: Loaded, seconds: number): string {
  const { rows, created, updated, unchanged, skipped } = loaded
  const isUnknown = created === undefined || updated === undefined
  const same = unchanged ? ` (${number(unchanged)} unchanged)` : ''
  const news = isUnknown ? '' : `, ${number(created)} new, ${number(updated)} updated${same}`
  const rate = number(Math.round(rows / Math.max(seconds, 0.001)))
  const left = skipped ? `, ${number(skipped)} stale left out` : ''
  return `${file}: ${rowCount(rows)}${news}${left} in ${seconds.toFixed(1)} s (${rate} rows/s).`
}

function aboutRejects({ shape }: FeedFile, rejects: string | undefined): string[] {
  if (rejects === undefined) return []
  return [
    ...(rejects === '-' ? [] : [`${rejects} has the rejected rows, each with its error.`]),
    ...(shape === plainShape
      ? []
      : ['Load them without --delimiter, --decimal-comma, --column and --without.']),
  ]
}

const delimiters = { semicolons: "';'", tabs: 'tab', pipes: "'|'" }

/** Suggests options that make the file acceptable. */
function advice(type: string, errors: BadCell[]): string[] {
  if (type === 'stale-rows') return ['Use --skip-stale to leave them out.']
  if (type === 'guardrail-violated') return [overrideAdvice]
  const unknown = errors.find(({ code, line }) => code === 'unknown_key' && line !== undefined)
  if (!unknown) return []
  const [, named] = /separated by commas, not by (\w+)/.exec(unknown.message) ?? []
  const delimiter = delimiters[named as keyof typeof delimiters]
  if (delimiter)
    return [`Use --delimiter ${delimiter}, and --decimal-comma if decimals have a comma.`]
  return [
    'Use --column FROM=TO for a column with another name, --without NAME to leave it out; `pricewell schema add` adds one to the catalog.',
  ]
}
