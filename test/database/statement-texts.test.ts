import t from 'tap'
import { hostileTexts } from '../helpers/hostile.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { statementsOf } from '../helpers/statements.ts'

const service = await startTestService(t)
const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }

/** Names for the columns, dimensions and attributes of an account. */
const namesOfRound = 60

/** 500 names and more, each but once: hostile ones, and hostile ones inside others. */
const names = [
  ...hostileTexts.filter((text) => text !== 'A' && text !== 'a'),
  ...hostileTexts.flatMap((a) => hostileTexts.map((b) => `${a}${b}#`)),
].filter((name, index, all) => all.indexOf(name) === index)
const rounds = Array.from({ length: 9 }, (_, round) =>
  names.slice(round * namesOfRound, (round + 1) * namesOfRound),
)

/** One of every request that names a column, a dimension or a dynamic attribute; answers the statements' texts. */
async function textsOf(account: TestAccount, given: string[]): Promise<Set<string>> {
  const [attributes, extensions] = [given.slice(0, 20), given.slice(20, 28)]
  const [costs, dimensions] = [given.slice(28, 48), given.slice(48, 58)]
  const [color = '', brand = ''] = attributes
  const [size = '', country = ''] = extensions
  const [cost = '', freight = ''] = costs
  const [retail = '', wholesale = ''] = dimensions
  const [shelf = '', note = ''] = given.slice(58)
  const post = async (path: string, body: unknown) => {
    const answer = await account.post(`/api/v1/${path}`, body)
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const typed = (name: string) => ({ name, type: 'string' })
  const key = { code: 'A', ...Object.fromEntries(extensions.map((name) => [name, 'S'])) }
  const list = { name: 'L', ...year, price_dimensions: dimensions }
  const statements = await statementsOf(async () => {
    await post('product_catalog/schema/create_schema/', {
      attributes: attributes.map(typed),
      extensions: extensions.map(typed),
      costs: costs.map((name) => ({ name })),
    })
    await post('product_catalog/bulk_create_or_update/', [
      { ...key, [color]: 'red', [cost]: 1, [freight]: 2 },
    ])
    const formula = `="${cost.replaceAll('"', '""')}" / Price`
    const filters = { [color]: ['red'], [country]: ['S'] }
    const [{ id }] = await post('price_list/bulk_create/', [
      { ...list, margin_formula: formula, product_filters: filters },
    ])
    await post('prices/bulk_add_products/', { name: 'L', payload: [key] })
    await post('prices/bulk_update_prices/', {
      price_list_name: 'L',
      payload: [{ ...key, price_dimension: wholesale, price: 2 }],
    })
    const notes = [shelf, note].map((name) => ({
      ...key,
      dynamic_attribute_name: name,
      dynamic_attribute_value: name,
    }))
    await post('prices/bulk_update_dynamic_attributes/', { price_list_id: id, payload: notes })
    const promotion = {
      name: shelf,
      kind: 'amount',
      value: 1,
      ...year,
      product_filters: filters,
      price_dimensions: [retail],
    }
    await post('promotions/bulk_create_or_update/', [promotion])
    const include = ['margin', 'active_margin', 'dynamic_attributes', 'base_price']
    const payload = [
      { [color]: 'red' },
      { code: 'A', [size]: 'S' },
      key,
      { ...key, promotion: shelf },
    ].map((row) => ({ ...row, price_dimension: retail }))
    await post('prices/get_prices/', {
      price_list_name: 'L',
      include,
      payload,
      promotion_date: '2026-06-01',
    })
    await post('prices/sync_with_catalog/', { price_list_name: 'L' })
    await post('competitor_prices/schema/create_schema/', {
      attributes_config: ['code', brand, size],
    })
    await post('competitor_prices/bulk_create_or_update/', [
      { code: 'A', [brand]: note, [size]: shelf, competitor_name: note, competitor_price: 1 },
    ])
    const agreement = {
      name: note,
      client_code: note,
      price_list_code: shelf,
      price_line: { [color]: note },
      prices: { [retail]: 1 },
    }
    await post('agreement/bulk_create_or_update', [agreement])
    const { body: product } = await account.get('/api/v1/product_catalog/')
    t.equal(product.results[0][cost], 1)
    const { body: rows } = await account.get(`/api/v1/price_list/${id}/rows`)
    t.strictSame(
      [rows.results[0].prices[wholesale], rows.results[0].dynamic_attributes[note]],
      [2, note],
    )
    const { body: entries } = await account.get(
      `/api/v1/competitor_prices/?competitor_name=${encodeURIComponent(note)}`,
    )
    t.equal(entries.results[0][size], shelf)
    await post('prices/bulk_remove_products/', { name: 'L', payload: [key] })
    await post('promotions/bulk_delete/', [shelf])
    await post('product_catalog/bulk_delete/', [product.results[0].extended_catalog_id])
  })
  return new Set(statements.map(({ text }) => text))
}

t.test(
  'names are never part of a statement: 500 hostile ones make the same statements',
  async (t) => {
    const plain = Array.from({ length: namesOfRound }, (_, index) => `name ${index}`)
    const expected = await textsOf(await service.newAccount(t), plain)
    t.ok(expected.size > 25, `${expected.size} statements`)
    for (const round of rounds) {
      const texts = await textsOf(await service.newAccount(t), round)
      const other = [...texts].filter((text) => !expected.has(text))
      t.strictSame(other, [], JSON.stringify(round))
    }
  },
)
