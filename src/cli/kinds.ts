/** What files are loaded into: where they go, and whether the rows belong to one price list. */
export const feeds = {
  products: { path: '/api/v1/product_catalog/bulk_create_or_update/', ofList: false },
  sales: { path: '/api/v1/sales_history/bulk_create_or_update', ofList: false },
  'competitor-prices': { path: '/api/v1/competitor_prices/bulk_create_or_update/', ofList: false },
  agreements: { path: '/api/v1/agreement/bulk_create_or_update', ofList: false },
  promotions: { path: '/api/v1/promotions/bulk_create_or_update/', ofList: false },
  rows: { path: '/api/v1/prices/bulk_add_products/', ofList: true },
  prices: { path: '/api/v1/prices/bulk_update_prices/', ofList: true },
  'dynamic-attributes': { path: '/api/v1/prices/bulk_update_dynamic_attributes/', ofList: true },
} as const

export type FeedKind = keyof typeof feeds

/** What can be exported, and where it is read. */
export const collections = {
  products: '/api/v1/product_catalog/',
  sales: '/api/v1/sales_history/',
  'competitor-prices': '/api/v1/competitor_prices/',
  agreements: '/api/v1/agreement/',
  promotions: '/api/v1/promotions/',
  prices: '/api/v1/price_list/{id}/rows',
} as const

export type CollectionKind = keyof typeof collections
