-- Tables with the keys and indexes that a team would make for these calls. The floor has them, too. As in the service,
-- rows of a list do not refer to products by a foreign key.
create table products (
  id bigint generated always as identity primary key,
  code text not null,
  country text not null,
  brand text,
  family text,
  purchase numeric,
  freight numeric,
  active boolean not null default true,
  unique (code, country)
);
create index on products (family);
create table price_lists (
  id bigint generated always as identity primary key,
  name text not null unique,
  valid_from date not null,
  valid_to date not null,
  families text[]
);
create table price_list_rows (
  id bigint generated always as identity primary key,
  price_list_id bigint not null references price_lists on delete cascade,
  product_id bigint not null,
  price numeric not null default 0,
  unique (price_list_id, product_id)
);
create table sales (
  id bigint generated always as identity primary key,
  transaction_id text not null unique,
  price_list_name text,
  price_dimension text,
  code text not null,
  extension text not null,
  quantity numeric not null,
  active_price numeric,
  client_code text,
  agreement_code text,
  departure_date date,
  revenue numeric not null,
  transaction_date timestamptz,
  currency text
);
create index on sales (code);
create index on sales (transaction_date);
create table competitor_prices (
  id bigint generated always as identity primary key,
  code text not null,
  country text not null,
  competitor_name text not null,
  competitor_price numeric not null,
  latest_update timestamptz not null,
  unique (code, country, competitor_name)
);
create index on competitor_prices (competitor_name);
create table agreements (
  id bigint generated always as identity primary key,
  name text not null,
  client_code text not null,
  price_list_code text not null,
  price_line jsonb not null,
  prices jsonb not null,
  unique (name, client_code, price_list_code, price_line)
);
create index on agreements (client_code);
create index on agreements (price_list_code);
