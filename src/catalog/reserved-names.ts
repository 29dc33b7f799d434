/**
 * Fixed keys of the interface, which no column may be called: its values would stand beside them. Only `description`
 * may, a key of price lists that no row has and every shop wants.
 */
export const reservedNames: ReadonlySet<string> = new Set([
  ...['__proto__', 'active', 'active_margin', 'active_price', 'added', 'agreement_code'],
  ...['attributes', 'attributes_config', 'base_price', 'client_code', 'code', 'competitor_name'],
  ...['competitor_price', 'created', 'currency', 'date', 'departure_date', 'dimensions'],
  ...['dynamic_attribute_name', 'dynamic_attribute_value', 'dynamic_attributes', 'error'],
  ...['extended_catalog_id', 'extension', 'extensions', 'finished', 'hash', 'id', 'include'],
  ...['input', 'is_calendar', 'is_dated', 'latest_update', 'margin', 'margin_formula', 'name'],
  ...['output', 'payload', 'pk', 'price', 'price_dimension', 'price_dimensions', 'price_line'],
  ...['price_list_code', 'price_list_id', 'price_list_name', 'prices', 'product_code'],
  ...['product_filters', 'progress', 'promotion', 'promotion_date', 'promotions', 'quantity'],
  ...['removed', 'resource_type', 'revenue', 'status', 'total', 'transaction_date'],
  ...['transaction_id', 'untouched', 'updated', 'valid_from', 'valid_to', 'value'],
])
