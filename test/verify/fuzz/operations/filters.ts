import type { Filters, Model, ProductKey } from '../model.ts'
import { canonical, type Value } from '../values.ts'

/** Whether the filters allow a product: for each key, one of its values. */
export function allows(model: Model, filters: Filters, { code, extensions }: ProductKey): boolean {
  return Object.entries(filters).every(([name, values]) => {
    const value: Value | undefined =
      name === 'code'
        ? code
        : Object.hasOwn(extensions, name)
          ? extensions[name]
          : model.attributes.get(code)?.get(name)
    return value !== undefined && values.some((allowed) => canonical(allowed) === canonical(value))
  })
}
