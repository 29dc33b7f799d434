import type { PricewellClient, Schemas } from '../client/index.ts'
import { UsageFault } from './faults.ts'

/** Turns the text of an extension into the value that a body takes: an integer is a number there. */
export type Cast = (name: string, text: string) => unknown

/** Casts by the catalog of the account. What is no value of the column's type is left for the service to refuse. */
export async function readCast({ GET }: PricewellClient): Promise<Cast> {
  const { extensions } = (await GET('/api/v1/product_catalog/schema/')).data
  return (name, text) => {
    const column = extensions.find((extension) => extension.name === name)
    if (!column) {
      const names = extensions.map((extension) => extension.name).join(', ') || 'none'
      throw new UsageFault(`There is no extension "${name}"; there are: ${names}.`)
    }
    return castTo(column.type, text)
  }
}

function castTo(type: Schemas['ColumnType'], text: string): unknown {
  const isNumeric = type === 'integer' || type === 'number'
  if (isNumeric && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if (type === 'boolean' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}
