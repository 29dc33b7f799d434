import t from 'tap'
import { operations, readContract } from '../../src/contract/document.ts'
import { backgroundThreshold } from '../../src/contract/operation.ts'
import { contractSchema } from '../helpers/conformant.ts'

// biome-ignore lint/suspicious/noExplicitAny: a YAML document.
type Document = any

const contract: Document = readContract()
/** Schemas of values that say nothing of what a field is for. */
const general = new Set(['Text', 'Id', 'Date', 'Timestamp', 'Money', 'DecimalText', 'MoneyText'])
const methods = ['get', 'post', 'put', 'patch', 'delete']
const described: [string, Document][] = Object.entries<Document>(contract.paths).flatMap(
  ([path, item]) =>
    methods
      .filter((method) => item[method])
      .map((method): [string, Document] => [`${method} ${path}`, item[method]]),
)

t.test(
  'a GET, get_prices and get_price_history read, all other operations of an account write; keys and users are for admins',
  async (t) => {
    for (const { id, method, scope, isRead } of operations) {
      const reads = method === 'GET' || ['getPrices', 'getPriceHistory'].includes(id)
      const isPlan = ['reprice', 'discardPlan'].includes(id)
      const usual = reads ? 'read' : isPlan ? 'plan' : 'write'
      if (!scope) continue
      const ofAdmins = /ApiKey|User|resetPassword/.test(id)
      // Everybody has an own password.
      const ofAll = id === 'changePassword'
      t.equal(scope, ofAll ? 'any' : ofAdmins ? 'admin' : usual, id)
      t.equal(isRead, reads, id)
    }
  },
)

t.test('every operation is described, tagged, and says who may call it', async (t) => {
  const tags = new Set(contract.tags.map(({ name }: { name: string }) => name))
  for (const [name, operation] of described) {
    t.match(operation.operationId, /^[a-z][A-Za-z]+$/, `${name}: operationId`)
    t.ok(operation.summary?.length > 5, `${name}: summary`)
    t.ok(operation.description?.length > 20, `${name}: description`)
    t.equal(operation.tags?.length, 1, `${name}: one tag`)
    t.ok(tags.has(operation.tags[0]), `${name}: the tag is declared`)
    const isOfAccount = operation.security?.some(({ jwt }: Document) => jwt) ?? true
    if (!isOfAccount) t.equal(operation['x-scope'], undefined, `${name}: no JWT, so no scope`)
    else t.match(operation['x-scope'], /^(read|plan|write|admin|any)$/, `${name}: scope`)
  }
  const ids = described.map(([, operation]) => operation.operationId)
  t.equal(new Set(ids).size, ids.length, 'operation ids are unique')
  t.equal(operations.length, ids.length)
})

t.test('every operation documents the answers that all of its kind can give', async (t) => {
  for (const [name, operation] of described) {
    const statuses = Object.keys(operation.responses)
    const successes = statuses.filter((status) => /^2/.test(status))
    const takesFiles = operation.requestBody?.content['text/csv'] !== undefined
    const isPlanned = ['reprice', 'syncWithCatalog', 'revertPriceList'].includes(
      operation.operationId,
    )
    const hasJobs = takesFiles || isPlanned
    // A plan is 201 also where the call answers 200.
    const isMade = operation.operationId === 'upsertPromotions' ? 1 : 0
    t.equal(successes.length, (hasJobs ? 2 : 1) + isMade, `${name}: one success, and 202 for a job`)
    t.equal(successes.includes('202'), hasJobs, `${name}: 202`)
    const ofToken = operation['x-scope'] ? ['401', '403', '406', '429', '503'] : []
    const ofBody = operation.requestBody ? ['413', '415'] : []
    for (const status of ['400', '405', '500', ...ofToken, ...ofBody])
      t.ok(statuses.includes(status), `${name}: ${status}`)
    for (const parameter of operation.parameters ?? []) {
      const { description, schema } = resolve(parameter)
      t.ok(description && schema, `${name}: its parameters are described`)
    }
  }
})

t.test('every body of an operation is shown by an example', async (t) => {
  for (const [name, operation] of described) {
    if (!operation.requestBody) continue
    const { example, examples } = operation.requestBody.content['application/json']
    t.ok(example !== undefined || examples !== undefined, name)
  }
})

t.test('every example is valid by its schema', async (t) => {
  let count = 0
  visit(contract, '', (node, pointer) => {
    const schemaPointer = node.schema ? `${pointer}/schema` : pointer
    const shown = Object.values<Document>(node.examples ?? {}).map((one) => one?.value ?? one)
    const examples = node.example === undefined ? shown : [node.example, ...shown]
    for (const example of examples) {
      count++
      const validate = contractSchema(schemaPointer)
      t.ok(validate(example), pointer, { errors: validate.errors, example })
    }
  })
  t.ok(count > 20, `${count} examples`)
})

t.test('every property of a schema is described, itself or by what it refers to', async (t) => {
  visit(contract, '', (node, pointer) => {
    for (const [key, property] of Object.entries<Document>(node.properties ?? {})) {
      if (pointer.includes('/example')) continue
      const isGeneral = general.has(property.$ref?.split('/').at(-1))
      const text = property.description ?? (isGeneral ? undefined : resolve(property).description)
      const isNamed = property.$ref !== undefined && !isGeneral
      t.ok(text || isNamed, `${pointer}/properties/${key}`)
    }
  })
})

t.test(
  'items that must differ have a type: without one each is compared with all others',
  async (t) => {
    visit(contract, '', ({ uniqueItems, items }, pointer) => {
      const types = [items?.type ?? []].flat()
      if (uniqueItems) t.ok(types.length > 0 && !types.includes('object'), pointer)
    })
  },
)

t.test('every problem type and every error code is explained', async (t) => {
  for (const name of ['ProblemType', 'ErrorCode']) {
    const { description, enum: values } = contract.components.schemas[name]
    const explained = [...description.matchAll(/^- `([\w-]+)`/gm)].map(([, value]) => value)
    t.strictSame(explained.sort(), [...values].sort(), name)
  }
})

t.test('every parameter and every header is described', async (t) => {
  visit(contract, '', (node, pointer) => {
    const headers = node.responses || !node.headers ? [] : Object.values<Document>(node.headers)
    const parameters = Array.isArray(node.parameters) ? node.parameters : []
    for (const one of [...headers, ...parameters]) t.ok(resolve(one).description, pointer)
  })
})

t.test('an operation has a parameter once: of its own, or from its path', async (t) => {
  for (const [path, item] of Object.entries<Document>(contract.paths)) {
    for (const operation of Object.values<Document>(item).filter((one) => one.operationId)) {
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve)
      const names = parameters.map(({ in: place, name }) => `${place} ${name}`)
      t.strictSame(names, [...new Set(names)], operation.operationId)
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`)
      const ofPath = names.filter((name) => name.startsWith('path '))
      t.strictSame(ofPath, inPath, `${operation.operationId}: each part of the path`)
    }
  }
})

function resolve(node: Document): Document {
  if (!node.$ref) return node
  return node.$ref
    .slice(2)
    .split('/')
    .reduce((place: Document, key: string) => place[key], contract)
}

/** Calls `look` for every object of the document but what is inside examples. */
function visit(
  node: Document,
  pointer: string,
  look: (node: Document, pointer: string) => void,
): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) look(node, pointer)
  for (const [key, child] of Object.entries(node)) {
    if (key === 'example' || key === 'examples' || key === 'default' || key === 'enum') continue
    const segment = encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
    visit(child, `${pointer}/${segment}`, look)
  }
}

t.test('the contract states the background threshold', async (t) => {
  const { description } = contract.tags.find(({ name }: { name: string }) => name === 'Jobs')
  t.match(description, `Work on more than ${backgroundThreshold} products runs in the background`)
})
