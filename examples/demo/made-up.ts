import type { Schemas } from '../../src/client/index.ts'
import type { ProductPrices, Shop } from './online-retail.ts'

/** Made-up data that the demonstration needs and the shop's file lacks. */

/** The login in the contract's examples. */
export const demoUser = { email: 'admin@example.com', password: 'correct horse battery staple' }

/** A second user, who also changes prices. */
export const demoColleague = {
  email: 'mona@example.com',
  password: 'four words that nobody guesses',
}

export const mainCountries = ['United Kingdom', 'Germany', 'France', 'EIRE']

export const retail = 'Retail 2026'
export const everything = 'Everything'
export const rental = 'Rental'

const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }

/** Nothing else uses the last list, so it can be deleted. */
export const demoLists: Schemas['PriceListInput'][] = [
  {
    ...year,
    name: retail,
    description: 'Shop prices',
    price_dimensions: ['retail', 'wholesale'],
    margin_formula: '= (Price - (D + "freight")) / Price * 100',
    product_filters: { country: mainCountries },
  },
  { ...year, name: everything },
  {
    name: rental,
    description: 'Cakestands for a day',
    is_calendar: true,
    valid_from: `${thisYear()}-01-01`,
    valid_to: `${thisYear()}-12-31`,
    margin_formula: '= (Price - "freight") / Price * 100',
    product_filters: { code: ['22423'] },
  },
  { name: 'Clearance 2025', valid_from: '2025-01-01', valid_to: '2025-12-31' },
]

/** The shop with costs, and with one product in one more country, which the contract's examples need. */
export function withMadeUp({ products, prices, ...shop }: Shop): Shop {
  const added = { code: '85123A', country: 'France' }
  const allPrices = [...prices, { ...added, retail: 2.95, wholesale: 2.55 }]
  const byKey = new Map(allPrices.map((price) => [keyOf(price), price]))
  const costed = [...products, added].map((product) => {
    const price = byKey.get(keyOf(product))
    return price ? { ...product, ...costsOf(price) } : product
  })
  return { ...shop, products: costed, prices: allPrices }
}

function costsOf({ country, wholesale }: ProductPrices): { purchase: number; freight: number } {
  return { purchase: cents(wholesale * 0.55), freight: country === 'United Kingdom' ? 0.15 : 0.4 }
}

/** The third promotion can be deleted; the last one is valid now. */
export function demoPromotions(): Schemas['PromotionInput'][] {
  const days = (from: number, to: number) => ({
    valid_from: dayFromNow(from),
    valid_to: dayFromNow(to),
  })
  return [
    {
      name: 'Black Friday',
      kind: 'percentage',
      value: 20,
      valid_from: '2026-11-27',
      valid_to: '2026-11-30',
      price_lists: [retail],
      product_filters: { country: ['United Kingdom'] },
      price_dimensions: ['retail'],
    },
    {
      name: 'One pound off',
      kind: 'amount',
      value: 1,
      valid_from: '2026-11-01',
      valid_to: '2026-11-30',
      price_lists: [retail],
      product_filters: { code: ['22423'] },
    },
    {
      name: 'Last season',
      kind: 'percentage',
      value: 50,
      valid_from: '2025-06-01',
      valid_to: '2025-08-31',
    },
    {
      name: 'Fortnight of light',
      kind: 'percentage',
      value: 15,
      ...days(-4, 10),
      price_lists: [retail],
      price_dimensions: ['retail'],
    },
  ]
}

/** Prices of three competitors for products of the main countries, some below the shop's prices and some above. */
export function demoCompetitorPrices({ prices }: Shop): Schemas['CompetitorPriceInput'][] {
  const competitors = ['Lantern & Co', 'Gift Barn', 'Papier & Faden']
  return prices
    .filter(({ country }) => mainCountries.includes(country))
    .flatMap(({ code, country, retail }) =>
      competitors
        .map((name) => ({ name, chance: chanceOf(`${code} ${country} ${name}`) }))
        .filter(({ chance }) => chance < 0.7)
        .map(({ name, chance }) => ({
          code,
          country,
          competitor_name: name,
          competitor_price: cents(retail * (0.82 + chance / 2)),
        })),
    )
}

/** The second agreement is the one in the contract's examples. */
export const demoAgreements: Schemas['AgreementInput'][] = [
  {
    name: 'Summer rental',
    client_code: '13047',
    price_list_code: rental,
    price_line: { product_code: 'TENT-4' },
    prices: { price: { '2026-07-01': 45, '2026-07-02': 39.5 } },
  },
  {
    name: 'Frame contract 2026',
    client_code: '17850',
    price_list_code: retail,
    price_line: { product_code: '85123A', attribute_1: 'Home', attribute_2: 3 },
    prices: { retail: 2.35, wholesale: 1.9 },
  },
]

/** A price for each day of the year: higher in summer, on weekends and before Christmas. */
export function rentalPrices(prices: ProductPrices[]): Schemas['UpdatePricesRow'][] {
  const start = Date.parse(`${thisYear()}-01-01T00:00:00Z`)
  return prices
    .filter(({ code, country }) => code === '22423' && mainCountries.includes(country))
    .flatMap(({ code, country, wholesale }) =>
      Array.from({ length: 365 }, (_, index) => {
        const day = new Date(start + index * 86_400_000)
        const price = cents(wholesale * 0.8 * seasonOf(day, index))
        return { code, country, date: day.toISOString().slice(0, 10), price }
      }),
    )
}

function seasonOf(day: Date, index: number): number {
  const summer = 1 - 0.45 * Math.cos((2 * Math.PI * (index - 15)) / 365)
  const weekend = [0, 6].includes(day.getUTCDay()) ? 1.25 : 1
  const christmas = day.getUTCMonth() === 11 && day.getUTCDate() < 27 ? 1.9 : 1
  return summer * weekend * christmas
}

/** A number from 0 to 1 that is always the same for the same text (FNV-1a). */
function chanceOf(text: string): number {
  let hash = 0x811c9dc5
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  return (hash >>> 0) / 2 ** 32
}

function keyOf({ code, country }: { code: string; country?: unknown }): string {
  return `${code} ${country}`
}

function cents(amount: number): number {
  return Math.round(amount * 100) / 100
}

function thisYear(): number {
  return new Date().getUTCFullYear()
}

function dayFromNow(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
}
