import fc from 'fast-check'
import { resolved, type Schema } from './contract-faults.ts'
import type { Model } from './model.ts'
import { day, money, text, type Value } from './values.ts'

/** What an account has, by the fields that refer to it. */
export type Hints = (field: string) => fc.Arbitrary<unknown> | undefined

/** Names, codes and ids of the account, so that generated bodies refer to existing rows. */
export function hintsOf(model: Model): Hints {
  const lists = [...model.lists.values()]
  const known: Record<string, readonly unknown[]> = {
    code: model.codes,
    price_list_name: lists.map(({ name }) => name),
    price_list_id: lists.map(({ id }) => id),
    price_lists: lists.map(({ name }) => name),
    price_dimension: lists.flatMap(({ dimensions }) => dimensions),
    promotion: [...model.promotions.keys()],
    attributes_config: ['code', ...model.pools.keys()],
    transaction_id: [...model.sales.keys()],
  }
  const columns = Object.fromEntries(
    [...model.pools].map(([name, pool]) => [`column ${name}`, pool]),
  )
  const all = new Map(
    Object.entries({ ...known, ...columns }).filter(([, pool]) => pool.length > 0),
  )
  return (field) => {
    const pool = all.get(field)
    return pool && fc.constantFrom(...pool)
  }
}

/** Bodies that a schema of the contract allows. */
export function bodiesOf(
  schema: Schema,
  hints: Hints,
  columns: string[],
  field = '',
): fc.Arbitrary<unknown> {
  const given = resolved(schema)
  const { type, enum: values, oneOf } = given
  if (values) return fc.constantFrom(...values)
  if (oneOf) return fc.oneof(...oneOf.map((one: Schema) => bodiesOf(one, hints, columns, field)))
  if (Array.isArray(type))
    return fc.oneof(
      ...type.map((one: string) => bodiesOf({ ...given, type: one }, hints, columns, field)),
    )
  if (type === 'array') return arrayOf(given, hints, columns, field)
  if (type === 'object') return objectOf(given, hints, columns)
  const plain = scalarOf(given)
  const hint = hints(field)
  return hint ? fc.oneof({ weight: 6, arbitrary: hint }, { weight: 1, arbitrary: plain }) : plain
}

function scalarOf({
  type,
  format,
  minimum,
  maximum,
  minLength,
  pattern,
}: Schema): fc.Arbitrary<unknown> {
  if (format === 'date') return day
  if (format === 'timestamp')
    return fc.oneof(
      day,
      day
        .map((date) => `${date}T12:00:00.5+01:00`)
        .filter((one) => one < '9999-12-31' && one > '0001-01-02'),
    )
  if (format === 'decimal' || format === 'money-text')
    return money.map(String).filter((one) => !one.includes('e'))
  if (type === 'number') return money
  if (type === 'integer')
    return fc.integer({ min: minimum ?? 0, max: Math.min(maximum ?? 1000, 2 ** 31) })
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (pattern) return fc.constantFrom('EUR', 'GBP')
  if (type === 'string') return (minLength ?? 0) > 0 ? text : fc.oneof(text, fc.constant(''))
  return fc.oneof(text, money, fc.boolean())
}

function arrayOf(
  schema: Schema,
  hints: Hints,
  columns: string[],
  field: string,
): fc.Arbitrary<unknown[]> {
  const items = bodiesOf(schema.items ?? {}, hints, columns, field)
  const bounds = { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? 3, 3) }
  return schema.uniqueItems
    ? fc.uniqueArray(items, { ...bounds, selector: (one) => JSON.stringify(one) })
    : fc.array(items, bounds)
}

/** Open objects get the account's columns; maps get names of their own. */
function objectOf(schema: Schema, hints: Hints, columns: string[]): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties, minProperties = 0 } = schema
  const fields = Object.entries<Schema>(properties).map(
    ([name, one]) => [name, bodiesOf(one, hints, columns, name)] as const,
  )
  const fixed = fc.record(Object.fromEntries(fields), { requiredKeys: required })
  if (additionalProperties === false || additionalProperties === undefined) return fixed
  const isMap = fields.length === 0
  const names = isMap ? mapNames(schema, columns) : columns
  if (names.length === 0) return fixed
  const extra = fc.record(
    Object.fromEntries(
      names.map((name) => [name, valueFor(additionalProperties, hints, columns, name)]),
    ),
    isMap ? { requiredKeys: minProperties > 0 ? names.slice(0, 1) : [] } : {},
  )
  return fc.tuple(fixed, extra).map(([one, other]) => ({ ...other, ...one }))
}

function mapNames({ propertyNames }: Schema, columns: string[]): string[] {
  if (resolved(propertyNames ?? {}).format === 'date') return ['2026-07-01', '2026-07-02']
  return [...columns, 'product_code'].slice(0, 2)
}

function valueFor(
  schema: Schema,
  hints: Hints,
  columns: string[],
  name: string,
): fc.Arbitrary<unknown> {
  const isAny = schema === true || (schema.type === undefined && schema.$ref === undefined)
  const held = hints(`column ${name}`) as fc.Arbitrary<Value> | undefined
  return isAny ? (held ?? text) : bodiesOf(schema, hints, columns, name)
}
