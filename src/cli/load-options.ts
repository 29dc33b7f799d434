import type { SaidOfChange } from './change-headers.ts'
import { UsageFault } from './faults.ts'
import { type FeedKind, feeds } from './kinds.ts'
import type { FileOptions } from './prepare-files.ts'
import type { Shared } from './program.ts'

export interface LoadOptions extends Shared, FileOptions, SaidOfChange {
  list?: string | undefined
  rejects?: string | undefined
  job?: true | undefined
  plan?: true | undefined
  skipStale?: true | undefined
}

/** Throws `UsageFault` for options that do not fit the kind of rows, the number of files, or each other. */
export function rejectMisuse(kind: FeedKind, names: string[], options: LoadOptions): void {
  const { list } = options
  const { ofList } = feeds[kind]
  if (ofList && list === undefined) throw new UsageFault(`Say with --list whose ${kind} these are.`)
  if (!ofList && list !== undefined) throw new UsageFault(`--list has no meaning for ${kind}.`)
  for (const { name, option, kinds } of ofSomeKinds)
    if (options[option] !== undefined && !kinds.includes(kind))
      throw new UsageFault(`${name} has no meaning for ${kind}.`)
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
    throw new UsageFault(`${once} goes with one file at a time.`)
  if (rejects !== undefined && once === '-')
    throw new UsageFault('--rejects has no meaning for standard input, which cannot be sent again.')
  if (rejects === '-' && options.json)
    throw new UsageFault(
      '--rejects - does not go with --json, which writes to standard output, too.',
    )
  if (options.format !== undefined && once !== '-')
    throw new UsageFault('--format is for standard input: the name of a file says what it is.')
  if (rejects !== undefined && names.length > 1)
    throw new UsageFault('--rejects goes with one file at a time.')
  if (rejects !== undefined && job)
    throw new UsageFault('--rejects has no meaning for a job: load the file without --job.')
}
