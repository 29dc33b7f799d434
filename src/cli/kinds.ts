/**
 * The kinds of rows that files hold: where they are sent, whether they belong to one price list, and which contract
 * columns hold decimals (a name that ends in a dot is a prefix).
 */
export const feeds = {
  products: { path: '/api/v1/product_catalog/bulk_create_or_update/', ofList: false, decimals: [] },
  sales: {
    path: '/api/v1/sales_history/bulk_create_or_update',
    ofList: false,
    decimals: ['quantity', 'active_price', 'revenue'],
  },
  'competitor-prices': {
    path: '/api/v1/competitor_prices/bulk_create_or_update/',
    ofList: false,
    decimals: ['competitor_price'],
  },
  agreements: {
    path: '/api/v1/agreement/bulk_create_or_update',
    ofList: false,
    decimals: ['prices.'],
  },
  promotions: {
    path: '/api/v1/promotions/bulk_create_or_update/',
    ofList: false,
    decimals: ['value'],
  },
  rows: { path: '/api/v1/prices/bulk_add_products/', ofList: true, decimals: [] },
  prices: {
    path: '/api/v1/prices/bulk_update_prices/',
    ofList: true,
    decimals: ['price', 'expected_price'],
  },
  'dynamic-attributes': {
    path: '/api/v1/prices/bulk_update_dynamic_attributes/',
    ofList: true,
    decimals: ['dynamic_attribute_value'],
  },
} as const

export type FeedKind = keyof typeof feeds

const ofAccount = { ofList: false, query: {} } as const
const ofRows = { path: '/api/v1/price_list/{id}/rows', ofList: true } as const

/** The kinds of rows that can be exported: where they are read, and whether they belong to one price list. */
export const collections = {
  products: { path: '/api/v1/product_catalog/', ...ofAccount },
  sales: { path: '/api/v1/sales_history/', ...ofAccount },
  'competitor-prices': { path: '/api/v1/competitor_prices/', ...ofAccount },
  agreements: { path: '/api/v1/agreement/', ...ofAccount },
  promotions: { path: '/api/v1/promotions/', ...ofAccount },
  prices: { ...ofRows, query: {} },
  'dynamic-attributes': { ...ofRows, query: { lines: 'dynamic_attributes' } },
} as const

export type CollectionKind = keyof typeof collections

/** The path that removes rows from a price list. */
export const removalPath = '/api/v1/prices/bulk_remove_products/'

/** The kinds of rows that can be deleted: where, and by which key. */
export const deletions = {
  products: {
    path: '/api/v1/product_catalog/bulk_delete/',
    key: 'extended_catalog_id',
    isId: true,
  },
  sales: { path: '/api/v1/sales_history/bulk_delete/', key: 'transaction_id', isId: false },
  'competitor-prices': { path: '/api/v1/competitor_prices/bulk_delete/', key: 'hash', isId: false },
  agreements: { path: '/api/v1/agreement/bulk_delete/', key: 'id', isId: true },
  promotions: { path: '/api/v1/promotions/bulk_delete/', key: 'name', isId: false },
} as const

export type DeletionKind = keyof typeof deletions
