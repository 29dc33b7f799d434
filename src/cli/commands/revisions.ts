import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type PricewellClient, Problem, type Schemas } from '../../client/index.ts'
import { changeHeaders } from '../change-headers.ts'
import { Failed, UsageFault } from '../faults.ts'
import { resultOf } from '../follow-job.ts'
import { planText } from '../plan-text.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { number, type TableRow, table } from '../terminal.ts'
import { findList, writeExport } from './export.ts'

const shown = 25

export function addLog(program: Program): void {
  program
    .command('log')
    .description(
      `Shows the last ${shown} revisions of a price list: who changed what, when and why.`,
    )
    .argument('<list>', 'the name of the price list')
    .addHelpText('after', "\nExample:\n  pricewell log 'Retail 2026'")
    .action(async (name) => {
      const client = openClient()
      const params = { path: { id: await findList(client, name) }, query: { limit: shown } }
      const { data } = await client.GET('/api/v1/price_list/{id}/revisions/', { params })
      // Newest last, at the bottom of the terminal.
      const revisions = data.results.toReversed()
      answer(revisions, table(revisions.map(logged), 'The list has no revisions.'))
    })
}

function logged(revision: Schemas['Revision']): TableRow {
  const { actor, reverts, voided, note, override } = revision
  const undone =
    reverts && (reverts.from === reverts.to ? reverts.from : `${reverts.from}-${reverts.to}`)
  return {
    revision: revision.revision,
    at: revision.at,
    kind: revision.kind,
    who: actor.name,
    priced: revision.priced,
    added: revision.added,
    removed: revision.removed,
    reverts: undone,
    mistake: voided ? 'yes' : undefined,
    note,
    override,
  }
}

export function addDiff(program: Program): void {
  program
    .command('diff')
    .description('Compares a price list at two moments, the largest changes first.')
    .argument('<list>', 'the name of the price list')
    .argument('<from>', 'a revision, or a day and time; 0 is before the first publication')
    .argument('[to]', 'the same; now when left out')
    .option('-o, --output <file>', 'writes all cells to this .csv or .ndjson file (also .gz)')
    .addHelpText(
      'after',
      `
Shows 1,000 cells at most; a file has all, by code.

Examples:
  pricewell diff 'Retail 2026' 12 13
  pricewell diff 'Retail 2026' 12 -o changed.csv`,
    )
    .action(async (name, from, to, options) => {
      const query = { from, ...(to !== undefined && { to }) }
      if (options.output !== undefined) {
        const collection = { path: '/api/v1/price_list/{id}/diff/', query } as const
        return writeExport(options, { name: 'diff', collection, isUncounted: true, list: name })
      }
      const client = openClient()
      const params = {
        path: { id: await findList(client, name) },
        query: { ...query, order: 'change' as const, limit: cellsShown },
      }
      const { data } = await client
        .GET('/api/v1/price_list/{id}/diff/', { params })
        .catch((fault) => {
          const isLarge = fault instanceof Problem && fault.type === 'too-costly'
          throw isLarge ? new Failed(`${fault.detail} Here, -o writes the file.`) : fault
        })
      const { count, results: cells } = data
      const said = `${number(count)} ${count === 1 ? 'cell differs' : 'cells differ'}.`
      answer(cells, cells.length > 0 ? `${table(cells.map(compared))}\n${said}` : said)
    })
}

const cellsShown = 1000

function compared({ pk: _, extended_catalog_id: __, ...cell }: Schemas['CellChange']): TableRow {
  return cell as TableRow
}

export function addRevert(program: Program): void {
  program
    .command('revert')
    .description('Undoes one revision of a price list, or all after one.')
    .argument('<list>', 'the name of the price list')
    .addOption(new Option('--revision <number>', 'undoes this one').argParser(revisionNumber))
    .addOption(
      new Option('--to <number>', 'undoes all after this one')
        .argParser(revisionNumber)
        .conflicts('revision'),
    )
    .option('--skip', 'leaves out what has changed again since, instead of undoing nothing')
    .option('--void', 'marks what was undone as a mistake')
    .option('--plan', 'only make a plan, which `apply` applies')
    .option('--note <text>', 'why, for the log')
    .addHelpText(
      'after',
      "\nExample:\n  pricewell revert 'Retail 2026' --revision 13 --note 'wrong file'",
    )
    .action(async (name, options) => {
      const reverted = await revert(openClient(), name, options)
      answer(reverted, 'operation' in reverted ? planText(reverted) : revertText(reverted))
    })
}

interface RevertOptions {
  revision?: number | undefined
  to?: number | undefined
  skip?: true | undefined
  void?: true | undefined
  plan?: true | undefined
  note?: string | undefined
}

/** Returns the plan, or what was undone, even when a job does the work. */
async function revert(
  client: PricewellClient,
  name: string,
  options: RevertOptions,
): Promise<Schemas['Plan'] | Result> {
  const { revision, to, skip, void: isVoid, plan, note } = options
  if (revision === undefined && to === undefined)
    throw new UsageFault('Name what to undo: --revision or --to.')
  const { data } = await client.POST('/api/v1/price_list/{id}/revert/', {
    params: {
      path: { id: await findList(client, name) },
      header: changeHeaders({ note }),
      query: plan ? { plan: 'true' } : {},
    },
    body: {
      ...(revision === undefined ? { to_revision: to as number } : { revision }),
      on_conflict: skip ? 'skip' : 'reject',
      void: isVoid === true,
    },
  })
  return resultOf(client, data)
}

type Result = Schemas['RevertResult']

function revertText({ revision, priced, added, removed, skipped }: Result): string {
  if (priced + added + removed === 0 && skipped === 0) return 'There was nothing to undo.'
  const left = skipped > 0 ? `, ${number(skipped)} left out` : ''
  return `Revision ${revision}: ${number(priced)} prices restored, ${number(added)} rows added, ${number(removed)} rows removed${left}.`
}

function revisionNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError('Must be a number, as shown by `pricewell log`.')
  return Number(text)
}
