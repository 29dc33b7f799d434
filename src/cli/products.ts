import { Option } from '@commander-js/extra-typings'
import type { PricewellClient, Schemas } from '../client/index.ts'
import { allRows } from './all-rows.ts'
import { UsageFault } from './faults.ts'
import { type Conditions, oneValue } from './option-values.ts'

export type Row = Record<string, unknown>

/** The option that chooses products of a code. */
export const whereOption = new Option(
  '--where <name=value>',
  'only this value of an extension; may be repeated for others',
).argParser(oneValue)

type Column = Schemas['CatalogSchema']['extensions'][number]

async function readExtensions({ GET }: PricewellClient): Promise<Column[]> {
  return (await GET('/api/v1/product_catalog/schema/')).data.extensions
}

/**
 * Converts the texts of extensions to JSON values by the catalog's types; the service refuses texts that do not fit.
 * Throws UsageFault for unknown extensions.
 */
export async function castExtensions(
  client: PricewellClient,
  given: Record<string, string>,
): Promise<Row> {
  return Object.keys(given).length === 0 ? {} : castTexts(await readExtensions(client), given)
}

function castTexts(extensions: Column[], given: Record<string, string>): Row {
  const cast = ([name, text]: [string, string]) => {
    const column = extensions.find((extension) => extension.name === name)
    if (column) return [name, castTo(column.type, text)]
    const names = extensions.map((extension) => extension.name).join(', ') || 'none'
    throw new UsageFault(`There is no extension "${name}"; available: ${names}.`)
  }
  return Object.fromEntries(Object.entries(given).map(cast))
}

/** Converts texts by the catalog's types; the service refuses unknown columns. */
export async function castFilters({ GET }: PricewellClient, filter: Conditions) {
  const { attributes, extensions } = (await GET('/api/v1/product_catalog/schema/')).data
  const types = new Map([...attributes, ...extensions].map(({ name, type }) => [name, type]))
  const cast = (name: string, text: string) => castTo(types.get(name) ?? 'string', text)
  return Object.fromEntries(
    Object.entries(filter).map(([name, texts]) => [name, texts.map((text) => cast(name, text))]),
  ) as NonNullable<Schemas['RepriceInput']['product_filters']>
}

/** Converts a text to the JSON value of a type; one that does not fit stays a text, which the service refuses. */
function castTo(type: Schemas['ColumnType'], text: string): unknown {
  const isNumeric = type === 'integer' || type === 'number'
  if (isNumeric && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if (type === 'boolean' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}

/**
 * Returns a function that reads the code and extensions of the products with a code and with the extensions `where`, and
 * throws UsageFault if there are more than `atMost`. Throws UsageFault for unknown extensions.
 */
export async function productReader(client: PricewellClient, where: Record<string, string>) {
  const extensions = await readExtensions(client)
  const names = ['code', ...extensions.map(({ name }) => name)]
  const wanted = Object.entries(castTexts(extensions, where)).map(([name, one]) => [name, [one]])
  return async (code: string, atMost = Number.POSITIVE_INFINITY): Promise<Row[]> => {
    const filters = JSON.stringify({ code: [code], ...Object.fromEntries(wanted) })
    const products = await allRows(async (page) => {
      const query = { filters, ...page }
      const { data } = await client.GET('/api/v1/product_catalog/', { params: { query } })
      if (data.count > atMost)
        throw new UsageFault(`${data.count} products have this code: choose some with --where.`)
      return { count: data.count, results: data.results as Row[] }
    })
    return products.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])))
  }
}
