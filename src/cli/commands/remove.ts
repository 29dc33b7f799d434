import type { PricewellClient, Schemas } from '../../client/index.ts'
import { type ChangeOptions, changeHeaders } from '../change-headers.ts'
import { Failed, UsageFault } from '../faults.ts'
import { openFeedFile } from '../feed-file.ts'
import { resultOf } from '../follow-job.ts'
import { removalPath } from '../kinds.ts'
import { planText } from '../plan-text.ts'
import { productReader, type Row, whereOption } from '../products.ts'
import { answer, type Program, program } from '../program.ts'
import { isFileRefused, overrideAdvice, tellRefused } from '../refused-file.ts'
import { sendFile } from '../send-file.ts'
import { openClient } from '../session.ts'
import { rowCount, startBar } from '../terminal.ts'

interface RemoveOptions extends ChangeOptions {
  file?: string | undefined
  where?: Record<string, string> | undefined
  plan?: true | undefined
}

export function addRemove(program: Program): void {
  program
    .command('remove')
    .description('Removes products from a price list: all rows of these codes, or those in a file.')
    .argument('<list>', 'the name of the price list')
    .argument('[code...]', 'product codes')
    .addOption(whereOption)
    .option(
      '--file <file>',
      'code and extensions: CSV, NDJSON or JSON, such as an export of a list',
    )
    .option('--plan', 'only make a plan, which `apply` applies')
    .option('--note <text>', 'why, for the log')
    .option('--override <reason>', 'lets it pass the guardrails; needs the scope override')
    .addHelpText(
      'after',
      `
\`log\` shows the revision, and \`revert\` brings the rows back with their prices.

Examples:
  pricewell remove 'Retail 2026' 85123A 85123B --where country=France
  pricewell remove 'Retail 2026' --file delisted.csv --plan`,
    )
    .action(async (list, codes, options) => {
      rejectInvalidOptions(codes, options)
      const { file } = options
      const removed = await (file === undefined
        ? removeCodes(list, codes, options)
        : removeFile(list, file, options))
      if (typeof removed === 'object') answer(removed, planText(removed))
      else answer({ removed }, `${rowCount(removed)} removed from ${list}.`)
    })
}

function rejectInvalidOptions(codes: string[], { file, where }: RemoveOptions): void {
  if (codes.length === 0 && file === undefined)
    throw new UsageFault('Name the products: codes or --file.')
  if (codes.length > 0 && file !== undefined) throw new UsageFault('Give either codes or --file.')
  if (file !== undefined && where) throw new UsageFault('--where does not apply to a file.')
}

/** The number of rows removed, or the plan. */
type Removed = number | Schemas['Plan']

async function removeCodes(
  list: string,
  codes: string[],
  options: RemoveOptions,
): Promise<Removed> {
  const client = openClient()
  const { data } = await client.POST(removalPath, {
    params: { query: options.plan ? { plan: 'true' } : {}, header: changeHeaders(options) },
    body: { price_list_name: list, payload: await findProducts(client, codes, options.where) },
  })
  const removed = await resultOf(client, data)
  return Array.isArray(removed) ? removed.length : removed
}

/** The rows of the codes in the catalog. Throws Failed for a code that has none, UsageFault for an unknown extension. */
async function findProducts(
  client: PricewellClient,
  codes: string[],
  where: Record<string, string> = {},
): Promise<Schemas['AddProductsRow'][]> {
  const readKeys = await productReader(client, where)
  const found: Row[] = []
  for (const code of codes) {
    const rows = await readKeys(code)
    if (rows.length === 0) throw new Failed(missing(code, where))
    found.push(...rows)
  }
  return found as Schemas['AddProductsRow'][]
}

function missing(code: string, where: Record<string, string>): string {
  const values = Object.entries(where).map(([name, value]) => `${name} ${value}`)
  const which = values.length > 0 ? ` with ${values.join(', ')}` : ''
  return `The catalog has no such product: "${code}"${which}.`
}

/** Has a job load the file: its result tells how many rows were removed. */
async function removeFile(list: string, name: string, options: RemoveOptions): Promise<Removed> {
  const file = openFeedFile(name)
  const bar = startBar(file.name, program.opts())
  const onBytes = (bytes: number) => bar.show(bytes, file.bytes)
  const load = {
    ...options,
    path: removalPath,
    list,
    file,
    job: true,
    headers: changeHeaders(options),
    onBytes,
  } as const
  try {
    const loaded = await sendFile(load).finally(bar.stop)
    return 'summary' in loaded ? loaded : (loaded.removed ?? 0)
  } catch (error) {
    if (!isFileRefused(error)) throw error
    const advice = error.type === 'guardrail-violated' ? [overrideAdvice] : []
    await tellRefused(file, error, () => advice)
    throw new Failed(`${name} was refused.`)
  }
}
