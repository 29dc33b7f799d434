import { readFileSync } from 'node:fs'
import { Argument } from '@commander-js/extra-typings'
import { type PricewellClient, Problem } from '../../client/index.ts'
import { Failed, UsageFault } from '../faults.ts'
import { parseArray, unreadable } from '../feed-file.ts'
import { type DeletionKind, deletions } from '../kinds.ts'
import { answer, type Program, program } from '../program.ts'
import { openPrompt } from '../prompt.ts'
import { openClient, serviceUrl } from '../session.ts'
import { firstLines, number } from '../terminal.ts'

interface DeleteOptions {
  file?: string | undefined
  yes?: true | undefined
}

export function addDelete(program: Program): void {
  program
    .command('delete')
    .description('Deletes what was loaded, by key. It asks first.')
    .addArgument(
      new Argument('<kind>', 'what to delete').choices(Object.keys(deletions) as DeletionKind[]),
    )
    .argument('[key...]', 'the keys')
    .option('--file <file>', 'a file with a key on each line, or a JSON array of keys (.json)')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
The keys are what an export shows: ${keysOfKinds}.
A missing key is not an error. Products that a price list holds are refused: \`remove\` them first.

Examples:
  pricewell delete promotions 'Black Friday'
  pricewell delete sales --file wrong-transactions.txt --yes`,
    )
    .action(async (kind, given, options) => {
      const keys = readKeys(kind, given, options)
      await confirm(kind, keys.length, options)
      const counts = await deleteAll(openClient(), kind, keys)
      answer(counts, deletedText(kind, counts))
    })
}

const keysOfKinds = Object.entries(deletions)
  .map(([kind, { key }]) => `${key} of ${kind}`)
  .join(', ')

type Key = string | number

/** The keys from the command line or the file. Throws UsageFault. */
function readKeys(kind: DeletionKind, given: string[], { file }: DeleteOptions): Key[] {
  if (given.length > 0 === (file !== undefined)) throw new UsageFault('Give either keys or --file.')
  const texts = file === undefined ? given : readLines(file)
  if (texts.length === 0) throw new UsageFault(`${file} has no keys.`)
  if (!deletions[kind].isId) return texts.map(String)
  return texts.map((text) => {
    if (!/^\d+$/.test(String(text))) throw new UsageFault(`"${text}" is not an id of ${kind}.`)
    return Number(text)
  })
}

function readLines(file: string): Key[] {
  const text = readText(file)
  if (!file.toLowerCase().endsWith('.json'))
    return text.split(/\r?\n/).filter((line) => line !== '')
  const keys = parseArray(file, text, 'keys')
  const other = keys.findIndex((key) => !/string|number/.test(typeof key))
  if (other >= 0) throw new UsageFault(`${file}: item ${other + 1} is not a key.`)
  return keys as Key[]
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** Asks on a terminal, or reads a line from standard input. Throws UsageFault unless the answer is yes. */
async function confirm(kind: DeletionKind, count: number, { yes }: DeleteOptions): Promise<void> {
  if (yes) return
  const prompt = openPrompt()
  const question = `Delete ${countOf(kind, count)} at ${serviceUrl()}? (yes/no) `
  const reply = await prompt.ask(question).finally(prompt.close)
  if (!/^y(es)?$/i.test(reply.trim()))
    throw new UsageFault('Nothing was deleted. Answer yes, or use --yes.')
}

interface Counts {
  deleted: number
  absent: number
}

/** The most keys per call. */
const keysMax = 100_000

/** Deletes in calls of 100,000 keys; each call deletes all of its keys or none. */
async function deleteAll(
  { POST }: PricewellClient,
  kind: DeletionKind,
  keys: Key[],
): Promise<Counts> {
  // All deletions have the same response.
  const path = deletions[kind].path as typeof deletions.sales.path
  const total = { deleted: 0, absent: 0 }
  for (let from = 0; from < keys.length; from += keysMax) {
    const body = keys.slice(from, from + keysMax) as string[]
    const { data } = await POST(path, { body }).catch((fault) => {
      if (program.opts().json) throw renumbered(fault, from)
      if (from > 0) console.error(`Of the first ${number(from)} keys: ${deletedText(kind, total)}`)
      throw withKeys(fault, body)
    })
    total.deleted += data.deleted
    total.absent += data.absent
  }
  return total
}

/** Makes the rows and pointers of a refusal count from the first key of all calls. */
function renumbered(fault: unknown, from: number): unknown {
  if (!(fault instanceof Problem)) return fault
  for (const error of fault.errors) {
    if (error.row === undefined) continue
    error.row += from
    error.pointer = `/${error.row}`
  }
  return fault
}

const shownMax = 20

/** Names the keys in a refusal, whose pointers only number them. */
function withKeys(fault: unknown, keys: readonly Key[]): unknown {
  if (!(fault instanceof Problem) || fault.errors.length === 0) return fault
  const lines = fault.errors.map(
    ({ pointer, message }) => `${keys[Number(pointer.slice(1))] ?? pointer}: ${message}`,
  )
  return new Failed([fault.detail, ...firstLines(lines, shownMax, fault.errorCount)].join('\n'))
}

function deletedText(kind: DeletionKind, { deleted, absent }: Counts): string {
  const missing = absent > 0 ? ` ${number(absent)} not found.` : ''
  return `${countOf(kind, deleted)} deleted.${missing}`
}

/** `1 sale`, `2,000 sales`. */
function countOf(kind: DeletionKind, count: number): string {
  const names = kind.replace('-', ' ')
  return `${number(count)} ${count === 1 ? names.slice(0, -1) : names}`
}
