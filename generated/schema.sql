-- The schema after all migrations, made by `npm run generate`; change it in migrations/.
-- The tables of the job queue (schema pgboss) are made by pg-boss.
-- Functions come before the tables that they name.
SET check_function_bodies = false;

CREATE OR REPLACE FUNCTION public.unfinished_jobs()
 RETURNS TABLE(state text, jobs bigint, oldest_seconds double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
        select s.state, count(j.id),
          coalesce(extract(epoch from now() - min(j.created_at)), 0)::double precision
        from (values ('waiting'), ('running')) s (state)
        left join public.jobs j on j.status = 'progress'
          and (case when j.attempt < 0 then 'waiting' else 'running' end) = s.state
        group by s.state
      $function$;
REVOKE EXECUTE ON FUNCTION unfinished_jobs() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION unfinished_jobs() TO pricewell_app;

CREATE OR REPLACE FUNCTION public.delete_expired_jobs()
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
        with deleted as (
          delete from public.jobs where finished_at < now() - interval '7 days' returning id
        )
        select count(*) from deleted
      $function$;
REVOKE EXECUTE ON FUNCTION delete_expired_jobs() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_expired_jobs() TO pricewell_app;

CREATE OR REPLACE FUNCTION public.delete_expired_keys()
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
        with deleted as (
          delete from public.idempotency_keys k using public.accounts a
          where k.account_id = a.id and k.created_at < now() - interval '24 hours' returning k.key
        )
        select count(*) from deleted
      $function$;
REVOKE EXECUTE ON FUNCTION delete_expired_keys() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_expired_keys() TO pricewell_app;

CREATE OR REPLACE FUNCTION public.delete_expired_plans()
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
        update public.plans set status = 'expired', ended_at = expires_at
          where status in ('open', 'scheduled') and expires_at < now();
        delete from public.plan_rows r using public.plans p
          where r.account_id = p.account_id and r.plan_id = p.id and p.ended_at < now() - interval '30 days';
        delete from public.plans where ended_at < now() - interval '30 days';
      $function$;
REVOKE EXECUTE ON FUNCTION delete_expired_plans() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_expired_plans() TO pricewell_app;

CREATE OR REPLACE FUNCTION public.analyze_loaded(name text, place text, value bigint, row_count bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET default_statistics_target TO '30'
 SET client_min_messages TO 'error'
AS $function$
      declare
        account text := format('account_id = %L', current_setting('app.account'));
        owner text := format('%I = %L', place, value);
        pages bigint;
        known_pages bigint;
        sampled_min bigint;
        condition text;
        plan jsonb;
        present bigint;
        is_known boolean := true;
      begin
        if name not in ('products', 'product_attributes', 'price_list_rows', 'calendar_months', 'removed_rows', 'plan_rows',
            'sales', 'competitor_prices', 'agreements') then
          raise 'not a table of loads: %', name;
        end if;
        select pg_relation_size(oid) / 8192, relpages, greatest(500, reltuples / 3000) into pages, known_pages, sampled_min
          from pg_class where oid = format('public.%I', name)::regclass;
        if pages <= 64 then return; end if;
        if pages < 64 + known_pages * 1.5 then
          foreach condition in array array[owner, account] loop
            execute format('explain (format json) select from public.%I where %s', name, condition) into plan;
            is_known := is_known and (plan #>> '{0,Plan,Plan Rows}')::bigint
              >= case when row_count < 2000 then 10 else row_count / 2 end;
          end loop;
          if is_known then return; end if;
          execute format('select count(*) from (select from public.%I where %s and %s limit %s) as present',
            name, account, owner, sampled_min) into present;
          if present < sampled_min then return; end if;
        end if;
        if pg_try_advisory_xact_lock(hashtextextended('analyze ' || name, 0)) then
          execute format('analyze (skip_locked) public.%I', name);
        end if;
      end $function$;
REVOKE EXECUTE ON FUNCTION analyze_loaded(name text, place text, value bigint, row_count bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION analyze_loaded(name text, place text, value bigint, row_count bigint) TO pricewell_app;

CREATE OR REPLACE FUNCTION public.expire_history(days integer)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
        update public.price_lists l
          set oldest_revision = greatest(l.oldest_revision, v.revision),
            oldest_at = greatest(l.oldest_at, now() - make_interval(days => days))
          from (
            select l.account_id, l.id, max(v.revision) as revision
            from public.price_lists l
            left join public.list_revisions v on v.account_id = l.account_id and v.price_list_id = l.id
              and v.at < now() - make_interval(days => days)
            group by l.account_id, l.id
          ) as v
          where l.account_id = v.account_id and l.id = v.id
            and (v.revision is not null or l.oldest_at < now() - make_interval(days => days));
      $function$;
REVOKE EXECUTE ON FUNCTION expire_history(days integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION expire_history(days integer) TO pricewell_app;

CREATE OR REPLACE FUNCTION public.delete_expired_history(days integer)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
        delete from public.list_changes c using (
          select l.account_id, l.id, least(l.oldest_revision, min(m.revision) - 1,
            min(case p.operation when 'revert' then (p.call ->> 'after')::integer else p.base_revision end)) as unneeded
          from public.price_lists l
          left join public.plans p on p.account_id = l.account_id and p.price_list_id = l.id
            and p.status in ('open', 'scheduled')
          left join public.list_revisions u on u.account_id = l.account_id and u.price_list_id = l.id
            and u.revision > l.oldest_revision and u.reverts_from <= l.oldest_revision
          left join public.list_revisions m on m.account_id = u.account_id and m.price_list_id = u.price_list_id
            and m.revision = u.reverts_from and m.voided
          group by l.account_id, l.id, l.oldest_revision
        ) as l
          where c.account_id = l.account_id and c.price_list_id = l.id and c.revision <= l.unneeded;
        delete from public.calendar_changes c using (
          select l.account_id, l.id, least(l.oldest_revision, min(m.revision) - 1,
            min(case p.operation when 'revert' then (p.call ->> 'after')::integer else p.base_revision end)) as unneeded
          from public.price_lists l
          left join public.plans p on p.account_id = l.account_id and p.price_list_id = l.id
            and p.status in ('open', 'scheduled')
          left join public.list_revisions u on u.account_id = l.account_id and u.price_list_id = l.id
            and u.revision > l.oldest_revision and u.reverts_from <= l.oldest_revision
          left join public.list_revisions m on m.account_id = u.account_id and m.price_list_id = u.price_list_id
            and m.revision = u.reverts_from and m.voided
          group by l.account_id, l.id, l.oldest_revision
        ) as l
          where c.account_id = l.account_id and c.price_list_id = l.id and c.revision <= l.unneeded;
        delete from public.list_revisions v using (
          select l.account_id, l.id, least(l.oldest_revision, min(m.revision) - 1,
            min(case p.operation when 'revert' then (p.call ->> 'after')::integer else p.base_revision end)) as unneeded
          from public.price_lists l
          left join public.plans p on p.account_id = l.account_id and p.price_list_id = l.id
            and p.status in ('open', 'scheduled')
          left join public.list_revisions u on u.account_id = l.account_id and u.price_list_id = l.id
            and u.revision > l.oldest_revision and u.reverts_from <= l.oldest_revision
          left join public.list_revisions m on m.account_id = u.account_id and m.price_list_id = u.price_list_id
            and m.revision = u.reverts_from and m.voided
          group by l.account_id, l.id, l.oldest_revision
        ) as l
          where v.account_id = l.account_id and v.price_list_id = l.id and v.revision < l.unneeded;
        delete from public.calendar_months m using public.removed_rows r, (
          select l.account_id, l.id, least(l.oldest_revision, min(m.revision) - 1,
            min(case p.operation when 'revert' then (p.call ->> 'after')::integer else p.base_revision end)) as unneeded
          from public.price_lists l
          left join public.plans p on p.account_id = l.account_id and p.price_list_id = l.id
            and p.status in ('open', 'scheduled')
          left join public.list_revisions u on u.account_id = l.account_id and u.price_list_id = l.id
            and u.revision > l.oldest_revision and u.reverts_from <= l.oldest_revision
          left join public.list_revisions m on m.account_id = u.account_id and m.price_list_id = u.price_list_id
            and m.revision = u.reverts_from and m.voided
          group by l.account_id, l.id, l.oldest_revision
        ) as l
          where m.account_id = r.account_id and m.price_list_id = r.price_list_id and m.row_id = r.row_id
            and l.account_id = r.account_id and l.id = r.price_list_id and r.removed_version <= l.unneeded
            and not exists (
              select from public.price_list_rows p
              where p.account_id = m.account_id and p.price_list_id = m.price_list_id and p.id = m.row_id
            ) and not exists (
              select from public.removed_rows k
              where k.account_id = m.account_id and k.price_list_id = m.price_list_id and k.row_id = m.row_id
                and k.removed_version > l.unneeded
            );
        delete from public.removed_rows r using (
          select l.account_id, l.id, least(l.oldest_revision, min(m.revision) - 1,
            min(case p.operation when 'revert' then (p.call ->> 'after')::integer else p.base_revision end)) as unneeded
          from public.price_lists l
          left join public.plans p on p.account_id = l.account_id and p.price_list_id = l.id
            and p.status in ('open', 'scheduled')
          left join public.list_revisions u on u.account_id = l.account_id and u.price_list_id = l.id
            and u.revision > l.oldest_revision and u.reverts_from <= l.oldest_revision
          left join public.list_revisions m on m.account_id = u.account_id and m.price_list_id = u.price_list_id
            and m.revision = u.reverts_from and m.voided
          group by l.account_id, l.id, l.oldest_revision
        ) as l
          where r.account_id = l.account_id and r.price_list_id = l.id and r.removed_version <= l.unneeded;
        delete from public.promotion_versions where until_at < now() - make_interval(days => days + 1);
        delete from public.confirmed_prices where observed_at < now() - make_interval(days => days);
      $function$;
REVOKE EXECUTE ON FUNCTION delete_expired_history(days integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_expired_history(days integer) TO pricewell_app;

CREATE TABLE accounts (
  id bigint DEFAULT ((1)::double precision + floor((random() * ('9007199254740990'::bigint)::double precision))) NOT NULL,
  name text COLLATE "C" NOT NULL,
  settings_version bigint DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT accounts_pkey PRIMARY KEY (id)
);
ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE accounts FORCE ROW LEVEL SECURITY;
CREATE POLICY accounts_of_account ON accounts
  USING ((id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY accounts_of_owner ON accounts TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON accounts TO pricewell_app;

CREATE TABLE users (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  email text COLLATE "C" NOT NULL,
  password_hash text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  scopes text[] NOT NULL,
  CONSTRAINT users_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT users_email_key UNIQUE (email)
);
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY users_of_account ON users
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY users_of_login ON users FOR SELECT
  USING ((email = NULLIF(current_setting('app.login'::text, true), ''::text)));
CREATE POLICY users_of_owner ON users TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON users TO pricewell_app;

CREATE TABLE catalog_columns (
  account_id bigint NOT NULL,
  "position" integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  type text NOT NULL,
  allowed_values jsonb,
  ordinal integer NOT NULL,
  letter text COLLATE "C" NOT NULL,
  CONSTRAINT catalog_columns_pkey PRIMARY KEY (account_id, "position"),
  CONSTRAINT catalog_columns_name_key UNIQUE (account_id, name),
  CONSTRAINT catalog_columns_kind_check CHECK ((kind = ANY (ARRAY['attribute'::text, 'extension'::text, 'cost'::text]))),
  CONSTRAINT catalog_columns_type_check CHECK ((type = ANY (ARRAY['string'::text, 'integer'::text, 'number'::text, 'boolean'::text, 'date'::text])))
);
ALTER TABLE catalog_columns ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_columns FORCE ROW LEVEL SECURITY;
CREATE POLICY catalog_columns_of_account ON catalog_columns
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON catalog_columns TO pricewell_app;

CREATE TABLE products (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  code text COLLATE "C" NOT NULL,
  extensions text[] COLLATE "C" NOT NULL,
  extension_key text COLLATE "C" NOT NULL,
  costs numeric[] NOT NULL,
  active boolean,
  CONSTRAINT products_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT products_key UNIQUE (account_id, code, extension_key),
  CONSTRAINT products_extension_key_check CHECK ((extension_key = (array_to_json(extensions))::text))
) WITH (fillfactor=50);
ALTER TABLE products ENABLE ROW LEVEL SECURITY;
ALTER TABLE products FORCE ROW LEVEL SECURITY;
CREATE POLICY products_of_account ON products
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON products TO pricewell_app;

CREATE TABLE product_attributes (
  account_id bigint NOT NULL,
  code text COLLATE "C" NOT NULL,
  attributes text[] COLLATE "C" NOT NULL,
  CONSTRAINT product_attributes_pkey PRIMARY KEY (account_id, code)
) WITH (fillfactor=50);
ALTER TABLE product_attributes ENABLE ROW LEVEL SECURITY;
ALTER TABLE product_attributes FORCE ROW LEVEL SECURITY;
CREATE POLICY product_attributes_of_account ON product_attributes
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON product_attributes TO pricewell_app;

CREATE TABLE price_lists (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text,
  valid_from date NOT NULL,
  valid_to date NOT NULL,
  price_dimensions text[] COLLATE "C" NOT NULL,
  margin_formula text NOT NULL,
  product_filters jsonb NOT NULL,
  is_calendar boolean NOT NULL,
  origin text NOT NULL,
  version integer DEFAULT 0 NOT NULL,
  published_at timestamp with time zone,
  oldest_revision integer DEFAULT 0 NOT NULL,
  oldest_at timestamp with time zone,
  row_count integer DEFAULT 0 NOT NULL,
  currency text COLLATE "C",
  hide_unpriced boolean DEFAULT false NOT NULL,
  guardrails jsonb DEFAULT '{}'::jsonb NOT NULL,
  decimals smallint DEFAULT 6 NOT NULL,
  CONSTRAINT price_lists_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT price_lists_name_key UNIQUE (account_id, name)
) WITH (fillfactor=50);
ALTER TABLE price_lists ENABLE ROW LEVEL SECURITY;
ALTER TABLE price_lists FORCE ROW LEVEL SECURITY;
CREATE POLICY price_lists_of_account ON price_lists
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY price_lists_of_owner ON price_lists TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON price_lists TO pricewell_app;

CREATE TABLE price_list_rows (
  account_id bigint NOT NULL,
  price_list_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  product_id bigint NOT NULL,
  code text COLLATE "C" NOT NULL,
  extensions text[] COLLATE "C" NOT NULL,
  extension_key text COLLATE "C" NOT NULL,
  prices numeric[] NOT NULL,
  dynamic_attributes jsonb,
  added_version integer NOT NULL,
  removed_version integer,
  since integer DEFAULT 1 NOT NULL,
  CONSTRAINT price_list_rows_pkey PRIMARY KEY (account_id, price_list_id, id),
  CONSTRAINT price_list_rows_key UNIQUE (account_id, price_list_id, code, extension_key)
) WITH (fillfactor=85);
ALTER TABLE price_list_rows ALTER COLUMN dynamic_attributes SET STATISTICS 0;
ALTER TABLE price_list_rows ALTER COLUMN prices SET STATISTICS 0;
CREATE INDEX price_list_rows_removed ON public.price_list_rows USING btree (account_id, price_list_id) WHERE (removed_version IS NOT NULL);
ALTER TABLE price_list_rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE price_list_rows FORCE ROW LEVEL SECURITY;
CREATE POLICY price_list_rows_of_account ON price_list_rows
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY price_list_rows_of_owner ON price_list_rows TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON price_list_rows TO pricewell_app;

CREATE TABLE calendar_months (
  account_id bigint NOT NULL,
  price_list_id bigint NOT NULL,
  row_id bigint NOT NULL,
  dimension integer NOT NULL,
  month date NOT NULL,
  prices numeric[] NOT NULL,
  since integer DEFAULT 1 NOT NULL,
  CONSTRAINT calendar_months_pkey PRIMARY KEY (account_id, price_list_id, row_id, dimension, month)
) WITH (fillfactor=85);
ALTER TABLE calendar_months ENABLE ROW LEVEL SECURITY;
ALTER TABLE calendar_months FORCE ROW LEVEL SECURITY;
CREATE POLICY calendar_months_of_account ON calendar_months
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY calendar_months_of_owner ON calendar_months TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON calendar_months TO pricewell_app;

CREATE TABLE sales (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  transaction_id text COLLATE "C" NOT NULL,
  price_list_name text COLLATE "C",
  price_dimension text COLLATE "C",
  code text COLLATE "C" NOT NULL,
  extension text COLLATE "C" NOT NULL,
  quantity numeric NOT NULL,
  active_price numeric,
  client_code text COLLATE "C",
  agreement_code text COLLATE "C",
  departure_date text COLLATE "C",
  revenue numeric NOT NULL,
  transaction_date timestamp with time zone,
  currency text COLLATE "C",
  CONSTRAINT sales_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT sales_transaction_key UNIQUE (account_id, transaction_id)
) WITH (fillfactor=50);
CREATE INDEX sales_code ON public.sales USING btree (account_id, code, id);
CREATE INDEX sales_transaction_date ON public.sales USING btree (account_id, transaction_date);
ALTER TABLE sales ENABLE ROW LEVEL SECURITY;
ALTER TABLE sales FORCE ROW LEVEL SECURITY;
CREATE POLICY sales_of_account ON sales
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON sales TO pricewell_app;

CREATE TABLE competitor_schemas (
  account_id bigint NOT NULL,
  columns jsonb NOT NULL,
  is_dated boolean NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT competitor_schemas_pkey PRIMARY KEY (account_id)
);
ALTER TABLE competitor_schemas ENABLE ROW LEVEL SECURITY;
ALTER TABLE competitor_schemas FORCE ROW LEVEL SECURITY;
CREATE POLICY competitor_schemas_of_account ON competitor_schemas
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON competitor_schemas TO pricewell_app;

CREATE TABLE competitor_prices (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  hash bytea NOT NULL,
  code text COLLATE "C",
  dimensions text[] COLLATE "C" NOT NULL,
  competitor_name text COLLATE "C" NOT NULL,
  departure_date date,
  competitor_price numeric NOT NULL,
  latest_update timestamp with time zone NOT NULL,
  CONSTRAINT competitor_prices_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT competitor_prices_hash_key UNIQUE (account_id, hash)
) WITH (fillfactor=50);
CREATE INDEX competitor_prices_code ON public.competitor_prices USING btree (account_id, code, id) WHERE (code IS NOT NULL);
CREATE INDEX competitor_prices_name ON public.competitor_prices USING btree (account_id, competitor_name, id);
ALTER TABLE competitor_prices ENABLE ROW LEVEL SECURITY;
ALTER TABLE competitor_prices FORCE ROW LEVEL SECURITY;
CREATE POLICY competitor_prices_of_account ON competitor_prices
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON competitor_prices TO pricewell_app;

CREATE TABLE agreements (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  key_hash bytea NOT NULL,
  name text COLLATE "C" NOT NULL,
  client_code text COLLATE "C" NOT NULL,
  price_list_code text COLLATE "C" NOT NULL,
  price_line jsonb NOT NULL,
  prices jsonb NOT NULL,
  version integer DEFAULT 1 NOT NULL,
  line_code text COLLATE "C" GENERATED ALWAYS AS (COALESCE((price_line ->> 'code'::text), (price_line ->> 'product_code'::text), ''::text)) STORED NOT NULL,
  CONSTRAINT agreements_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT agreements_key UNIQUE (account_id, key_hash)
) WITH (fillfactor=50);
CREATE INDEX agreements_client ON public.agreements USING btree (account_id, client_code, id);
CREATE INDEX agreements_line ON public.agreements USING btree (account_id, client_code, price_list_code, line_code);
CREATE INDEX agreements_name ON public.agreements USING btree (account_id, name, id);
CREATE INDEX agreements_price_list ON public.agreements USING btree (account_id, price_list_code, id);
ALTER TABLE agreements ENABLE ROW LEVEL SECURITY;
ALTER TABLE agreements FORCE ROW LEVEL SECURITY;
CREATE POLICY agreements_of_account ON agreements
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON agreements TO pricewell_app;

CREATE TABLE promotions (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  value numeric NOT NULL,
  valid_from date NOT NULL,
  valid_to date NOT NULL,
  price_lists text[] COLLATE "C",
  product_filters jsonb,
  price_dimensions text[] COLLATE "C",
  changed_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
  CONSTRAINT promotions_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT promotions_name_key UNIQUE (account_id, name),
  CONSTRAINT promotions_kind_check CHECK ((kind = ANY (ARRAY['percentage'::text, 'amount'::text, 'fixed_price'::text])))
) WITH (fillfactor=90);
CREATE INDEX promotions_valid_to ON public.promotions USING btree (account_id, valid_to);
ALTER TABLE promotions ENABLE ROW LEVEL SECURITY;
ALTER TABLE promotions FORCE ROW LEVEL SECURITY;
CREATE POLICY promotions_of_account ON promotions
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON promotions TO pricewell_app;

CREATE TABLE jobs (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  price_list_id bigint,
  kind text NOT NULL,
  status text DEFAULT 'progress'::text NOT NULL,
  total integer NOT NULL,
  finished integer DEFAULT 0 NOT NULL,
  error integer DEFAULT 0 NOT NULL,
  attempt integer DEFAULT '-1'::integer NOT NULL,
  faults integer DEFAULT 0 NOT NULL,
  product_ids bigint[],
  row_ids bigint[],
  result json,
  errors jsonb DEFAULT '[]'::jsonb NOT NULL,
  operation text COLLATE "C",
  media_type text COLLATE "C",
  query jsonb,
  file_id uuid,
  virtual_start integer,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  finished_at timestamp with time zone,
  origin jsonb,
  revision integer,
  CONSTRAINT jobs_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT jobs_file_key UNIQUE (account_id, file_id),
  CONSTRAINT jobs_kind_check CHECK ((kind = ANY (ARRAY['add-products'::text, 'remove-products'::text, 'sync-with-catalog'::text, 'load-file'::text, 'revert'::text, 'make-plan'::text, 'apply-plan'::text]))),
  CONSTRAINT jobs_price_list_check CHECK (((price_list_id IS NOT NULL) OR (kind = ANY (ARRAY['load-file'::text, 'apply-plan'::text])))),
  CONSTRAINT jobs_status_check CHECK ((status = ANY (ARRAY['progress'::text, 'done'::text, 'failed'::text, 'cancelled'::text])))
) WITH (fillfactor=50);
ALTER TABLE jobs ALTER COLUMN product_ids SET STORAGE EXTERNAL;
ALTER TABLE jobs ALTER COLUMN result SET STORAGE EXTERNAL;
ALTER TABLE jobs ALTER COLUMN row_ids SET STORAGE EXTERNAL;
CREATE INDEX jobs_unfinished ON public.jobs USING btree (account_id, price_list_id, id) WHERE (status = 'progress'::text);
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY jobs_of_account ON jobs
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY jobs_of_owner ON jobs TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON jobs TO pricewell_app;

CREATE TABLE file_pieces (
  account_id bigint NOT NULL,
  file_id uuid NOT NULL,
  number integer NOT NULL,
  bytes bytea NOT NULL,
  CONSTRAINT file_pieces_pkey PRIMARY KEY (account_id, file_id, number)
);
ALTER TABLE file_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE file_pieces ENABLE ROW LEVEL SECURITY;
ALTER TABLE file_pieces FORCE ROW LEVEL SECURITY;
CREATE POLICY file_pieces_of_account ON file_pieces
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON file_pieces TO pricewell_app;

CREATE TABLE idempotency_keys (
  account_id bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  body_hash bytea NOT NULL,
  headers jsonb NOT NULL,
  body text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account_id, subject, key)
);
CREATE INDEX idempotency_keys_created_at ON public.idempotency_keys USING btree (account_id, created_at);
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY idempotency_keys_of_account ON idempotency_keys
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY idempotency_keys_of_owner ON idempotency_keys TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON idempotency_keys TO pricewell_app;

CREATE TABLE account_names (
  id bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  CONSTRAINT account_names_pkey PRIMARY KEY (id),
  CONSTRAINT account_names_name_key UNIQUE (name)
);
ALTER TABLE account_names ENABLE ROW LEVEL SECURITY;
ALTER TABLE account_names FORCE ROW LEVEL SECURITY;
CREATE POLICY account_names_of_account ON account_names
  USING ((id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY account_names_of_owner ON account_names TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON account_names TO pricewell_app;

CREATE TABLE list_revisions (
  account_id bigint NOT NULL,
  price_list_id bigint NOT NULL,
  revision integer NOT NULL,
  at timestamp with time zone NOT NULL,
  kind text NOT NULL,
  origin jsonb NOT NULL,
  job_id bigint,
  observed_at timestamp with time zone,
  reverts_from integer,
  reverts_to integer,
  voided boolean DEFAULT false NOT NULL,
  priced integer NOT NULL,
  added integer NOT NULL,
  removed integer NOT NULL,
  slices smallint NOT NULL,
  plan_id bigint,
  CONSTRAINT list_revisions_pkey PRIMARY KEY (account_id, price_list_id, revision),
  CONSTRAINT list_revisions_kind_check CHECK ((kind = ANY (ARRAY['add_products'::text, 'remove_products'::text, 'sync'::text, 'update_prices'::text, 'reprice'::text, 'revert'::text])))
);
CREATE INDEX list_revisions_at ON public.list_revisions USING btree (account_id, price_list_id, at);
ALTER TABLE list_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE list_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY list_revisions_of_account ON list_revisions
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY list_revisions_of_owner ON list_revisions TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON list_revisions TO pricewell_app;

CREATE TABLE list_changes (
  account_id bigint NOT NULL,
  price_list_id bigint NOT NULL,
  revision integer NOT NULL,
  slice smallint NOT NULL,
  first_row_id bigint NOT NULL,
  change text COLLATE "C" NOT NULL,
  row_ids bigint[] NOT NULL,
  from_revisions integer[] NOT NULL,
  old_prices numeric[] NOT NULL,
  new_prices numeric[] NOT NULL,
  CONSTRAINT list_changes_pkey PRIMARY KEY (account_id, price_list_id, revision, change, slice, first_row_id),
  CONSTRAINT list_changes_change_check CHECK ((change = ANY (ARRAY['priced'::text, 'added'::text, 'removed'::text])))
) WITH (toast_tuple_target=1024);
ALTER TABLE list_changes ALTER COLUMN from_revisions SET STORAGE MAIN;
ALTER TABLE list_changes ALTER COLUMN new_prices SET STORAGE MAIN;
ALTER TABLE list_changes ALTER COLUMN old_prices SET STORAGE MAIN;
ALTER TABLE list_changes ALTER COLUMN row_ids SET STORAGE MAIN;
ALTER TABLE list_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE list_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY list_changes_of_account ON list_changes
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY list_changes_of_owner ON list_changes TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON list_changes TO pricewell_app;

CREATE TABLE calendar_changes (
  account_id bigint NOT NULL,
  price_list_id bigint NOT NULL,
  revision integer NOT NULL,
  slice smallint NOT NULL,
  first_row_id bigint NOT NULL,
  change text COLLATE "C" NOT NULL,
  row_ids bigint[] NOT NULL,
  dimensions integer[] NOT NULL,
  months date[] NOT NULL,
  from_revisions integer[] NOT NULL,
  old_prices numeric[] NOT NULL,
  new_prices numeric[] NOT NULL,
  CONSTRAINT calendar_changes_pkey PRIMARY KEY (account_id, price_list_id, revision, change, slice, first_row_id),
  CONSTRAINT calendar_changes_change_check CHECK ((change = ANY (ARRAY['priced'::text, 'added'::text, 'removed'::text])))
) WITH (toast_tuple_target=1024);
ALTER TABLE calendar_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE calendar_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY calendar_changes_of_account ON calendar_changes
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY calendar_changes_of_owner ON calendar_changes TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON calendar_changes TO pricewell_app;

CREATE TABLE confirmed_prices (
  account_id bigint NOT NULL,
  price_list_id bigint NOT NULL,
  row_id bigint NOT NULL,
  dimension integer NOT NULL,
  date date NOT NULL,
  observed_at timestamp with time zone NOT NULL,
  revision integer NOT NULL,
  CONSTRAINT confirmed_prices_pkey PRIMARY KEY (account_id, price_list_id, row_id, dimension, date)
) WITH (fillfactor=70);
ALTER TABLE confirmed_prices ENABLE ROW LEVEL SECURITY;
ALTER TABLE confirmed_prices FORCE ROW LEVEL SECURITY;
CREATE POLICY confirmed_prices_of_account ON confirmed_prices
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY confirmed_prices_of_owner ON confirmed_prices TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON confirmed_prices TO pricewell_app;

CREATE TABLE removed_rows (
  account_id bigint NOT NULL,
  price_list_id bigint NOT NULL,
  row_id bigint NOT NULL,
  product_id bigint NOT NULL,
  code text COLLATE "C" NOT NULL,
  extensions text[] COLLATE "C" NOT NULL,
  extension_key text COLLATE "C" NOT NULL,
  prices numeric[] NOT NULL,
  dynamic_attributes jsonb,
  since integer NOT NULL,
  added_version integer NOT NULL,
  removed_version integer NOT NULL,
  CONSTRAINT removed_rows_pkey PRIMARY KEY (account_id, price_list_id, row_id, removed_version)
);
CREATE INDEX removed_rows_key ON public.removed_rows USING btree (account_id, price_list_id, code, extension_key);
ALTER TABLE removed_rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE removed_rows FORCE ROW LEVEL SECURITY;
CREATE POLICY removed_rows_of_account ON removed_rows
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY removed_rows_of_owner ON removed_rows TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON removed_rows TO pricewell_app;

CREATE TABLE promotion_versions (
  account_id bigint NOT NULL,
  id bigint NOT NULL,
  from_at timestamp with time zone NOT NULL,
  until_at timestamp with time zone NOT NULL,
  name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  value numeric NOT NULL,
  valid_from date NOT NULL,
  valid_to date NOT NULL,
  price_lists text[] COLLATE "C",
  product_filters jsonb,
  price_dimensions text[] COLLATE "C",
  CONSTRAINT promotion_versions_pkey PRIMARY KEY (account_id, id, from_at)
);
ALTER TABLE promotion_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE promotion_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY promotion_versions_of_account ON promotion_versions
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY promotion_versions_of_owner ON promotion_versions TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON promotion_versions TO pricewell_app;

CREATE TABLE api_keys (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text COLLATE "C" NOT NULL,
  scopes text[] NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  last_used_on date,
  revoked_at timestamp with time zone,
  CONSTRAINT api_keys_pkey PRIMARY KEY (account_id, id)
);
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY api_keys_of_account ON api_keys
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
GRANT DELETE, INSERT, SELECT, UPDATE ON api_keys TO pricewell_app;

CREATE TABLE plans (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  price_list_id bigint,
  operation text NOT NULL,
  status text DEFAULT 'open'::text NOT NULL,
  base_revision integer,
  origin jsonb NOT NULL,
  call jsonb DEFAULT '{}'::jsonb NOT NULL,
  summary jsonb DEFAULT '{}'::jsonb NOT NULL,
  violations jsonb DEFAULT '[]'::jsonb NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  apply_at timestamp with time zone,
  ended_at timestamp with time zone,
  revision integer,
  error jsonb,
  CONSTRAINT plans_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT plans_operation_check CHECK ((operation = ANY (ARRAY['update_prices'::text, 'add_products'::text, 'remove_products'::text, 'sync'::text, 'promotions'::text, 'revert'::text, 'reprice'::text]))),
  CONSTRAINT plans_status_check CHECK ((status = ANY (ARRAY['open'::text, 'scheduled'::text, 'applied'::text, 'failed'::text, 'discarded'::text, 'expired'::text])))
) WITH (fillfactor=70);
CREATE INDEX plans_of_list ON public.plans USING btree (account_id, price_list_id) WHERE (status = ANY (ARRAY['open'::text, 'scheduled'::text]));
ALTER TABLE plans ENABLE ROW LEVEL SECURITY;
ALTER TABLE plans FORCE ROW LEVEL SECURITY;
CREATE POLICY plans_of_account ON plans
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY plans_of_owner ON plans TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON plans TO pricewell_app;

CREATE TABLE plan_rows (
  account_id bigint NOT NULL,
  plan_id bigint NOT NULL,
  place integer NOT NULL,
  "position" integer,
  row_id bigint,
  product_id bigint,
  code text COLLATE "C",
  extensions text[] COLLATE "C",
  extension_key text COLLATE "C",
  dimension integer,
  date date,
  name text COLLATE "C",
  action text NOT NULL,
  reason text,
  old numeric,
  new numeric,
  change_percent numeric,
  margin_before numeric,
  margin_after numeric,
  violations text[] DEFAULT '{}'::text[] NOT NULL,
  inputs jsonb,
  before jsonb,
  after jsonb,
  covered_rows integer,
  CONSTRAINT plan_rows_pkey PRIMARY KEY (account_id, plan_id, place)
);
ALTER TABLE plan_rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE plan_rows FORCE ROW LEVEL SECURITY;
CREATE POLICY plan_rows_of_account ON plan_rows
  USING ((account_id = ( SELECT (NULLIF(current_setting('app.account'::text, true), ''::text))::bigint AS "nullif")));
CREATE POLICY plan_rows_of_owner ON plan_rows TO CURRENT_USER
  USING (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON plan_rows TO pricewell_app;

ALTER TABLE users ADD CONSTRAINT users_account_fkey FOREIGN KEY (account_id) REFERENCES account_names(id) ON DELETE CASCADE;

ALTER TABLE catalog_columns ADD CONSTRAINT catalog_columns_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE price_lists ADD CONSTRAINT price_lists_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE competitor_schemas ADD CONSTRAINT competitor_schemas_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE promotions ADD CONSTRAINT promotions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE jobs ADD CONSTRAINT jobs_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE file_pieces ADD CONSTRAINT file_pieces_file_fkey FOREIGN KEY (account_id, file_id) REFERENCES jobs(account_id, file_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE plans ADD CONSTRAINT plans_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO pricewell_app;

GRANT USAGE ON SCHEMA public TO pricewell_app;

ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO pricewell_app;

ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT DELETE, INSERT, SELECT, UPDATE ON TABLES TO pricewell_app;
