import type { ClusterStatus } from '../../database/cluster-status.ts'
import { answer, type Program } from '../program.ts'
import { number, table } from '../terminal.ts'

/** `pricewell cluster distribute` and `pricewell cluster status`, which run on the service's machine. */
export function addCluster(program: Program): void {
  const cluster = program
    .command('cluster')
    .description('Runs the service on more than one machine (Citus): OPERATIONS.md says how.')
    .addHelpText('after', '\nExample:\n  pricewell cluster status')
  cluster
    .command('distribute')
    .description('Spreads the accounts of DATABASE_URL over the nodes of its cluster.')
    .addHelpText(
      'after',
      `
Stop the service first. It is all one transaction: if interrupted, run it again. Run again later, it does
nothing, or distributes what an upgrade has added. 10 million rows take a few minutes.

Example:
  DATABASE_URL=postgresql://pricewell@coordinator/pricewell pricewell cluster distribute`,
    )
    .action(async () => {
      const { distributeHere } = await import('../database-here.ts')
      const tables = await distributeHere((name) => {
        if (!program.opts().json) console.error(`  ${name}`)
      })
      const done = tables.length === 0 ? 'Everything is already distributed.' : 'Distributed.'
      answer({ tables }, `${done} See \`pricewell cluster status\`.`)
    })
  cluster
    .command('status')
    .description('Shows the nodes, what each holds, and the largest accounts.')
    .addHelpText(
      'after',
      '\nCounts the rows of up to 50 accounts, those with the largest shards.\n\nExample:\n  pricewell cluster status',
    )
    .action(async () => {
      const { clusterStatusHere } = await import('../database-here.ts')
      const status = await clusterStatusHere()
      answer(status, statusLines(status))
    })
}

const megabytes = (bytes: number) => `${number(Math.ceil(bytes / 1_000_000))} MB`

function statusLines({ nodes, not_distributed, largest_accounts }: ClusterStatus): string {
  const ofNodes = nodes.map(({ name, is_coordinator, is_reachable, shards, bytes }) => ({
    node: name,
    kind: is_coordinator ? 'coordinator' : 'worker',
    state: is_reachable ? 'up' : 'NOT REACHABLE',
    shards,
    size: megabytes(bytes),
  }))
  const accounts = largest_accounts.map(({ account, name, node, rows, bytes }) => ({
    account,
    name,
    node,
    rows,
    size: megabytes(bytes),
  }))
  const left =
    not_distributed.length > 0
      ? [`Not distributed: ${not_distributed.join(', ')}. Run \`pricewell cluster distribute\`.`]
      : []
  return [table(ofNodes), ...left, ...(accounts.length > 0 ? [table(accounts)] : [])].join('\n\n')
}
