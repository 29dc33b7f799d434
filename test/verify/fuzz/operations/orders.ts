import { chance, oneOf } from '../draw.ts'
import type { Column, Model, ProductKey } from '../model.ts'
import { canonical, type Value } from '../values.ts'
import { compareTexts, type World } from '../world.ts'
import { allows } from './filters.ts'
import { someFilters } from './price-lists.ts'

/** By code, then by extensions: numbers as numbers, everything else as text. */
export function compareKeys(columns: Column[]) {
  return (a: ProductKey, b: ProductKey): number => {
    const byCode = compareTexts(a.code, b.code)
    return byCode === 0 ? compareExtensions(columns, a, b) : byCode
  }
}

function compareExtensions(columns: Column[], a: ProductKey, b: ProductKey): number {
  for (const { name, type } of columns) {
    const [x, y] = [a.extensions[name] as Value, b.extensions[name] as Value]
    const isNumber = type === 'integer' || type === 'number'
    const order = isNumber ? Number(x) - Number(y) : compareTexts(canonical(x), canonical(y))
    if (order !== 0) return order
  }
  return 0
}

/** The keys in an order: `value` of each, null last, or their codes; equal ones by code and extensions. */
export function ordered<T extends ProductKey>(
  model: Model,
  all: readonly T[],
  order: string,
  value?: (one: T) => number | null,
): T[] {
  const sign = order.startsWith('-') ? -1 : 1
  const byKey = compareKeys(model.columns.extensions)
  const compare = (a: T, b: T) => {
    if (!value) return sign * compareTexts(a.code, b.code) || byKey(a, b)
    const [x, y] = [value(a), value(b)]
    if (x === null || y === null) return Number(x === null) - Number(y === null) || byKey(a, b)
    return sign * (x - y) || byKey(a, b)
  }
  return [...all].sort(compare)
}

/** A search by text, by filters or both: its query parameters, and which products it finds. */
export function someSearch(world: World) {
  const { draw, model } = world
  const contains = chance(draw, 25) ? someText(world) : undefined
  const filters = chance(draw, 25) ? someFilters(world) : undefined
  const isFound = (key: ProductKey) =>
    (filters === undefined || allows(model, filters, key)) &&
    (contains === undefined || textsOf(model, key).some((text) => has(text, contains)))
  return { query: { contains, filters: filters && JSON.stringify(filters) }, isFound }
}

/** A part of a code or of a text in use, often in another case. */
function someText({ draw, model }: World): string {
  const texts = [...model.pools.values()].flat().filter((value) => typeof value === 'string')
  const characters = [...oneOf(draw, [...model.codes, ...texts])]
  const start = oneOf(draw, [...characters.keys()])
  const part = characters.slice(start, start + oneOf(draw, [1, 2, 5])).join('')
  return oneOf(draw, [part, part.toUpperCase(), part.toLowerCase()]).slice(0, 255)
}

/** The texts of a product that are searched: all extensions, and the attributes that are texts. */
function textsOf(model: Model, { code, extensions }: ProductKey): string[] {
  const held = model.attributes.get(code)
  const attributes = model.columns.attributes
    .filter(({ name, type }) => type === 'string' && held?.has(name))
    .map(({ name }) => String(held?.get(name)))
  const keys = model.columns.extensions.map(({ name }) => canonical(extensions[name] as Value))
  return [code, ...keys, ...attributes]
}

const has = (text: string, part: string) => folded(text).includes(folded(part))

/** Each character by itself: what two of them would stand for stays, such as ß. */
function folded(text: string): string {
  const simple = (from: string, to: string) => ([...to].length === 1 ? to : from)
  const lower = [...text].map((one) => (one === 'İ' ? 'i' : simple(one, one.toLowerCase())))
  return lower.map((one) => simple(one, one.toUpperCase())).join('')
}
