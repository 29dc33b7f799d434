import { sql } from 'kysely'
import { changeSettingsVersion } from '../accounts/queries.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import { hasRows } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { findTypeFault } from './column-value.ts'
import {
  type Column,
  type Columns,
  type ColumnValue,
  columnLetter,
  findColumns,
  groupColumns,
  readAllowedValues,
} from './columns.ts'
import { schemaOf } from './read-catalog-schema.ts'
import {
  forgetFormerKeys,
  hasOtherKeys,
  rejectUsedColumns,
  renewDefaultFormulas,
} from './replaced-columns.ts'

/**
 * Declares the account's columns: appends to them, or replaces them while there are no products and nothing names the
 * removed columns. Throws `schema-in-use`.
 */
export const createCatalogSchema: Handler<'createCatalogSchema'> = ({
  account,
  body,
  inAccount,
}) => {
  const declared = readDeclaration(body)
  return inAccount(async (trx) => {
    await lockCatalog(trx, account)
    const present = await findColumns(trx, account)
    const appended = appendColumns(present, declared)
    const next = groupColumns(appended ?? newColumns(declared))
    const replacement = { account, present, next }
    const isOtherKey = hasOtherKeys(replacement)
    if (!appended || isOtherKey) await rejectProducts(trx, account)
    if (!appended) await rejectUsedColumns(trx, replacement)
    // Lists may exist before the first schema.
    if (!appended || present.all.length === 0) await renewDefaultFormulas(trx, replacement)
    if (isOtherKey) await forgetFormerKeys(trx, account)
    await replaceColumns(trx, account, next.all)
    return schemaOf(next)
  })
}

/** Waits for transactions that rely on the columns (`keepColumns`). */
async function lockCatalog(trx: Trx, account: number): Promise<void> {
  await trx.selectFrom('accounts').select('id').where('id', '=', account).forUpdate().execute()
}

async function rejectProducts(trx: Trx, account: number): Promise<void> {
  if (!(await hasRows(trx, 'products', account))) return
  const detail =
    'There are products: only attributes and costs can be appended, after those that are there. Nothing was written.'
  throw new Problem('schema-in-use', detail)
}

async function replaceColumns(trx: Trx, account: number, columns: Column[]): Promise<void> {
  await trx.deleteFrom('catalog_columns').where('account_id', '=', account).execute()
  await sql`
    insert into catalog_columns (account_id, name, kind, type, allowed_values, ordinal, letter, position)
    select ${account}, name, kind, type, nullif(allowed_values, 'null'), ordinal, letter,
      row_number() over (order by length(letter), letter collate "C")
    from jsonb_to_recordset(${JSON.stringify(columns)}::jsonb)
      as input (name text, kind text, type text, allowed_values jsonb, ordinal integer, letter text)
    on conflict do nothing`.execute(trx)
  await changeSettingsVersion(trx, account)
}

type Declared = Omit<Column, 'letter' | 'ordinal'>

/** A column of the request, with its JSON Pointer. */
interface Placed {
  column: Declared
  pointer: string
}

/** The declared columns: attributes, extensions, costs. Throws `invalid-request` with all faults. */
function readDeclaration(input: Schemas['CatalogSchemaInput']): Declared[] {
  const placed = [
    ...placeColumns('attribute', '/attributes', input.attributes),
    ...placeColumns('extension', '/extensions', input.extensions),
    ...placeColumns('cost', '/costs', input.costs),
  ]
  const seen = new Set<string>()
  const faults = placed.flatMap((one) => [...findNameFaults(one, seen), ...findValueFaults(one)])
  if (faults.length > 0) throw invalidRequest(faults)
  return placed.map(({ column }) => column)
}

function placeColumns(
  kind: Column['kind'],
  pointer: string,
  columns: readonly Partial<Schemas['ColumnInput']>[] = [],
): Placed[] {
  return columns.map(({ name = '', type = 'number', values }, index) => ({
    column: {
      name,
      kind,
      type,
      allowed_values: readAllowedValues(values as ColumnValue[] | undefined),
    },
    pointer: `${pointer}/${index}`,
  }))
}

/** `seen` holds the names of earlier columns; this one's name is added. */
function findNameFaults({ column: { name }, pointer }: Placed, seen: Set<string>): RequestError[] {
  const at = { pointer: `${pointer}/name`, field: 'name' }
  const faults: RequestError[] = []
  if (reservedNames.has(name))
    faults.push({ ...at, code: 'not_allowed', message: `"${name}" is a key of this interface` })
  if (seen.has(name))
    faults.push({
      ...at,
      code: 'duplicate_row',
      message: `there is another column called "${name}"`,
    })
  seen.add(name)
  return faults
}

function findValueFaults({ column: { type, allowed_values }, pointer }: Placed): RequestError[] {
  return (allowed_values?.list ?? []).flatMap((value, index) => {
    const fault = findTypeFault(type, value)
    const field = `values/${index}`
    return fault ? [{ pointer: `${pointer}/${field}`, field, ...fault }] : []
  })
}

/**
 * The columns after a declaration: present ones keep their letters, new ones get the next letters. Undefined if a
 * column was changed, moved or left out: then the schema can only be replaced.
 */
function appendColumns(present: Columns, declared: Declared[]): Column[] | undefined {
  const kept = new Map(present.all.map((column) => [column.name, column]))
  const ordinals = { attribute: 0, extension: 0, cost: 0 }
  const result: Column[] = []
  let position = present.all.length
  for (const column of declared) {
    const ordinal = ++ordinals[column.kind]
    const known = kept.get(column.name)
    if (known && !isSame(known, column, ordinal)) return undefined
    if (!known && ordinal <= countOf(present, column.kind)) return undefined
    result.push(known ?? { ...column, ordinal, letter: columnLetter(++position) })
    kept.delete(column.name)
  }
  return kept.size === 0 ? result : undefined
}

/** The columns of a new schema: B, C, ... in the order of their declaration. */
function newColumns(declared: Declared[]): Column[] {
  return appendColumns({ all: [], attributes: [], extensions: [], costs: [] }, declared) ?? []
}

function isSame(known: Column, column: Declared, ordinal: number): boolean {
  const values = JSON.stringify(known.allowed_values) === JSON.stringify(column.allowed_values)
  return (
    known.kind === column.kind && known.type === column.type && known.ordinal === ordinal && values
  )
}

function countOf(present: Columns, kind: Column['kind']): number {
  return present.all.filter((column) => column.kind === kind).length
}

/**
 * Fixed keys of rows, which no column may have as its name. `description` is allowed: it is a key of price lists, not
 * of rows, and every shop wants it.
 */
const reservedNames: ReadonlySet<string> = new Set(
  `
  __proto__ active active_margin active_price added agreement agreement_code attributes
  attributes_config base_price client_code code competition competitor_name competitor_price
  created currency date departure_date dimensions dynamic_attribute_name dynamic_attribute_value
  dynamic_attributes error expected_price explain extended_catalog_id extension extensions
  finished hash id include input is_calendar is_dated latest_update lowest_price margin
  margin_formula name output payload pk price price_dimension price_dimensions price_line
  price_list_code price_list_id price_list_name priced prices product_code product_filters
  progress promotion promotion_date promotions quantity removed resource_type revenue sales status
  total transaction_date transaction_id untouched updated valid_from valid_to value
  `.match(/\w+/g),
)
