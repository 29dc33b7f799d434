import { type Kysely, sql } from 'kysely'

/**
 * Price lists and their rows. A publication raises the `version` of its list, one row. A row is published from its
 * `added_version` until its `removed_version`, so that readers see all of a publication or none of it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table price_lists (
      account_id bigint not null constraint price_lists_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      name text collate "C" not null,
      description text,
      valid_from date not null,
      valid_to date not null,
      price_dimensions text[] collate "C" not null,
      margin_formula text not null,
      product_filters jsonb not null,
      is_calendar boolean not null,
      origin text not null,
      version integer not null default 0,
      published_at timestamptz,
      constraint price_lists_pkey primary key (account_id, id),
      constraint price_lists_name_key unique (account_id, name)
    ) with (fillfactor = 50);
    -- A database that has lost a list (a failover, a restored backup) gives its id to the next one: processes must not
    -- keep the lost list under it.
    create trigger price_lists_insert_changes_settings
      after insert on price_lists referencing new table as changed
      for each statement execute function count_settings_change();
    alter table price_lists enable row level security, force row level security;
    create policy price_lists_of_account on price_lists
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- No foreign keys from here on: they would be looked up for each row, a third of the time of adding it. Writers lock
    -- the list, and its deletion, which locks it too, deletes its rows and their months first.
    create table price_list_rows (
      account_id bigint not null,
      price_list_id bigint not null,
      id bigint generated always as identity,
      product_id bigint not null,
      -- A copy of the product's key, so that reads need no join. See products for extension_key.
      code text collate "C" not null,
      extensions text[] collate "C" not null,
      extension_key text collate "C" not null,
      -- By dimension, and in no index, so that a price update is a heap-only update.
      prices numeric[] not null,
      dynamic_attributes jsonb,
      added_version integer not null,
      removed_version integer,
      constraint price_list_rows_pkey primary key (account_id, price_list_id, id),
      constraint price_list_rows_key unique (account_id, price_list_id, code, extension_key)
    ) with (fillfactor = 85);
    -- Never searched: statistics about them would be of no use and take a third of the time of ANALYZE.
    alter table price_list_rows
      alter column prices set statistics 0,
      alter column dynamic_attributes set statistics 0;
    create index price_list_rows_removed on price_list_rows (account_id, price_list_id)
      where removed_version is not null;
    alter table price_list_rows enable row level security, force row level security;
    create policy price_list_rows_of_account on price_list_rows
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- A calendar list has a price for each dimension and day: 31 a month. Absent months and days are 0.
    create table calendar_months (
      account_id bigint not null,
      price_list_id bigint not null,
      row_id bigint not null,
      dimension integer not null,
      month date not null,
      prices numeric[] not null,
      constraint calendar_months_pkey primary key (account_id, price_list_id, row_id, dimension, month)
    ) with (fillfactor = 85);
    alter table calendar_months enable row level security, force row level security;
    create policy calendar_months_of_account on calendar_months
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
  `.execute(db)

  // The planner does not know rows that have just been loaded: it takes a list of 100,000 rows for one of a few, and joins
  // by comparing every key with every row, for minutes. So a load has its table analyzed when the table has grown by half
  // since the last time, or when the statistics claim to know every account or list and do not know this one. Only the
  // owner may analyze. A target of 30 reads 9,000 pages in 60 ms, the default 30,000 in 210 ms. Where a VACUUM holds the
  // table, which may take hours, the load goes on without, and the next one analyzes it.
  await sql`
    create function analyze_loaded(name text, place text, value bigint, row_count bigint) returns void
      language plpgsql security definer
      set search_path = pg_catalog, pg_temp set default_statistics_target = 30 set client_min_messages = error
      as $$
      declare
        pages bigint;
        known_pages bigint;
        known_values bigint[];
        known_share real;
      begin
        if name not in ('products', 'product_attributes', 'price_list_rows', 'calendar_months') then
          raise 'not a table of loads: %', name;
        end if;
        select pg_relation_size(oid) / 8192, relpages into pages, known_pages
          from pg_class where oid = format('public.%I', name)::regclass;
        if pages <= 64 then return; end if;
        if pages < 64 + known_pages * 1.5 then
          if row_count < 2000 then return; end if;
          select most_common_vals::text::bigint[], (select sum(f) from unnest(most_common_freqs) f)
            into known_values, known_share
            from pg_stats where schemaname = 'public' and tablename = name and attname = place;
          if value = any(known_values) or known_share < 0.95 then return; end if;
        end if;
        if pg_try_advisory_xact_lock(hashtextextended('analyze ' || name, 0)) then
          execute format('analyze (skip_locked) public.%I', name);
        end if;
      end $$;
    revoke execute on function analyze_loaded(text, text, bigint, bigint) from public;
    grant execute on function analyze_loaded(text, text, bigint, bigint) to pricewell_app;
  `.execute(db)
}
