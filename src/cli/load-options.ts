import type { ChangeOptions } from './change-headers.ts'
import { UsageFault } from './faults.ts'
import { type FeedKind, feeds } from './kinds.ts'
import type { FileOptions } from './prepare-files.ts'
import { program } from './program.ts'

/** Options of `load`. */
export interface LoadOptions extends FileOptions, ChangeOptions {
  list?: string | undefined
  rejects?: string | undefined
  job?: true | undefined
  plan?: true | undefined
  skipStale?: true | undefined
}

/** Throws `UsageFault` for options that do not fit the kind of rows, the number of files, or each other. */
export function rejectInvalidOptions(kind: FeedKind, names: string[], options: LoadOptions): void {
  const { list } = options
  const { ofList } = feeds[kind]
  if (ofList && list === undefined) throw new UsageFault(`Name the price list of ${kind}: --list.`)
  if (!ofList && list !== undefined) throw new UsageFault(`--list does not apply to ${kind}.`)
  for (const { name, option, kinds } of ofSomeKinds)
    if (options[option] !== undefined && !kinds.includes(kind))
      throw new UsageFault(`${name} does not apply to ${kind}.`)
  if (kind === 'promotions' && options.note !== undefined && !options.plan)
    throw new UsageFault('--note of promotions needs --plan: only a plan keeps it.')
  rejectMixture(names, options)
}

interface OfSomeKinds {
  name: string
  option: keyof LoadOptions
  kinds: FeedKind[]
}

const planned: FeedKind[] = ['rows', 'prices', 'promotions']

const ofSomeKinds: OfSomeKinds[] = [
  { name: '--plan', option: 'plan', kinds: planned },
  { name: '--note', option: 'note', kinds: planned },
  { name: '--override', option: 'override', kinds: ['prices'] },
  { name: '--skip-stale', option: 'skipStale', kinds: ['prices', 'competitor-prices'] },
]

function rejectMixture(names: string[], options: LoadOptions): void {
  const { rejects, job } = options
  const once = names.includes('-') ? '-' : options.rows === undefined ? undefined : '--rows'
  if (once !== undefined && names.length > 1)
    throw new UsageFault(`${once} takes one file at a time.`)
  if (rejects !== undefined && once === '-')
    throw new UsageFault('--rejects does not apply to standard input, which cannot be sent again.')
  if (rejects === '-' && program.opts().json)
    throw new UsageFault(
      '--rejects - does not work with --json, which also writes to standard output.',
    )
  if (options.format !== undefined && once !== '-')
    throw new UsageFault('--format is for standard input: the name of a file says what it is.')
  if (rejects !== undefined && names.length > 1)
    throw new UsageFault('--rejects takes one file at a time.')
  if (rejects !== undefined && job)
    throw new UsageFault('--rejects does not apply to a job: load the file without --job.')
}
