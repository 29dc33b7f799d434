#!/usr/bin/env bash
# Loads a file of each kind with curl and reads prices. Run it as often as you like: rows that exist are set again.
set -euo pipefail
cd "$(dirname "$0")/data"

url=${PRICEWELL_URL:-http://127.0.0.1:3000}
email=${PRICEWELL_EMAIL:-admin@example.com}
password=${PRICEWELL_PASSWORD:-correct horse battery staple}

token=$(curl -sS --fail-with-body "$url/login/" -H 'content-type: application/json' \
  -d "{\"email\": \"$email\", \"password\": \"$password\"}" | sed -E 's/.*"token":"([^"]+)".*/\1/')

# Usage: post <path> <content type> <body, or @file>
post() {
  echo "POST $1"
  curl -sS --fail-with-body "$url/api/v1/$1" -H "authorization: jwt $token" -H "content-type: $2" --data-binary "$3" && echo
}
json() { post "$1" application/json "$2"; }
csv() { post "$1" text/csv "@$2"; }

json product_catalog/schema/create_schema/ '{
  "attributes": [{"name": "description", "type": "string"}],
  "extensions": [{"name": "country", "type": "string"}],
  "costs": [{"name": "purchase"}, {"name": "freight"}]
}'
csv product_catalog/bulk_create_or_update/ products.csv

# 409 name-taken: the list exists from an earlier run.
list=$(json price_list/bulk_create/ '[{
  "name": "Kitchen 2026", "valid_from": "2026-01-01", "valid_to": "2026-12-31",
  "price_dimensions": ["retail", "wholesale"], "product_filters": {"code": ["MUG-01", "TRAY-02", "JUG-03"]}
}]') || grep -q '"name-taken"' <<< "$list"
echo "$list"
json prices/sync_with_catalog/ '{"price_list_name": "Kitchen 2026"}'
csv 'prices/bulk_update_prices/?price_list_name=Kitchen%202026' prices.csv

csv promotions/bulk_create_or_update/ promotions.csv
json competitor_prices/schema/create_schema/ '{"attributes_config": ["code", "country"]}'
csv competitor_prices/bulk_create_or_update/ competitor-prices.csv
csv sales_history/bulk_create_or_update sales.csv
csv agreement/bulk_create_or_update agreements.csv

# Without a country, the row expands to one row for each country of the list.
json prices/get_prices/ '{
  "price_list_name": "Kitchen 2026", "promotion_date": "2026-03-16", "include": ["base_price", "margin"],
  "payload": [{"code": "MUG-01", "price_dimension": "retail"}]
}'
