import { type Kysely, sql } from 'kysely'

/**
 * The history of price lists. `version` of a list is its revision: every change of published prices or rows raises it. A
 * row knows the revision that changed it last, where the price before it is found, with the revision that had set that one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table price_list_rows add column since integer not null default 1;
    alter table calendar_months add column since integer not null default 1;
    alter table jobs add column origin jsonb, add column revision integer;
    -- Who began the jobs that go on after the upgrade is not known.
    update jobs set origin = '{"actor": {"type": "user", "id": "unknown", "name": "unknown"}, "request_id": "unknown"}'
      where status = 'progress';
    alter table jobs drop constraint jobs_kind_check;
    alter table jobs add constraint jobs_kind_check
      check (kind in ('add-products', 'sync-with-catalog', 'load-file', 'revert'));

    -- History is kept from this revision and moment on: the upgrade, or what its age has left. The row count is the number of
    -- published rows.
    alter table price_lists
      add column oldest_revision integer not null default 0,
      add column oldest_at timestamptz,
      add column row_count integer not null default 0;
    -- Row-level security is forced on the owner, who has to see all accounts.
    create policy price_lists_of_owner on price_lists to current_user using (true);
    create policy price_list_rows_of_owner on price_list_rows to current_user using (true);
    create policy calendar_months_of_owner on calendar_months to current_user using (true);
    update price_lists l set oldest_revision = version, oldest_at = statement_timestamp(), row_count = (
        select count(*) from price_list_rows r
        where r.account_id = l.account_id and r.price_list_id = l.id and r.added_version <= l.version
          and (r.removed_version is null or r.removed_version > l.version)
      )
      where version > 0;
    -- A price of 0 was also one that nobody had set.
    update price_list_rows set prices = array_replace(prices, 0, null) where 0 = any(prices);
    update calendar_months set prices = array_replace(prices, 0, null) where 0 = any(prices);

    create table list_revisions (
      account_id bigint not null,
      price_list_id bigint not null,
      revision integer not null,
      at timestamptz not null,
      kind text not null constraint list_revisions_kind_check
        check (kind in ('add_products', 'remove_products', 'sync', 'update_prices', 'reprice', 'revert')),
      -- Who, the request and the note, as the answer shows them.
      origin jsonb not null,
      job_id bigint,
      -- When the sender saw the prices; null if the call did not say so.
      observed_at timestamptz,
      reverts_from integer,
      reverts_to integer,
      voided boolean not null default false,
      -- The numbers of changed cells, and of rows that came and went.
      priced integer not null,
      added integer not null,
      removed integer not null,
      -- The statements that wrote its changes: rows of two of them may overlap.
      slices smallint not null,
      constraint list_revisions_pkey primary key (account_id, price_list_id, revision)
    );
    create index list_revisions_at on list_revisions (account_id, price_list_id, at);
    alter table list_revisions enable row level security, force row level security;
    create policy list_revisions_of_account on list_revisions
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- 64 changes in a row, by row of the list: a change takes 22 bytes, 184 in a row of its own. Prices are those of all
    -- dimensions, dimension after dimension.
    create table list_changes (
      account_id bigint not null,
      price_list_id bigint not null,
      revision integer not null,
      slice smallint not null,
      first_row_id bigint not null,
      change text collate "C" not null constraint list_changes_change_check check (change in ('priced', 'added', 'removed')),
      row_ids bigint[] not null,
      from_revisions integer[] not null,
      old_prices numeric[] not null,
      new_prices numeric[] not null,
      constraint list_changes_pkey primary key (account_id, price_list_id, revision, change, slice, first_row_id)
    ) with (toast_tuple_target = 1024);
    alter table list_changes
      alter column row_ids set storage main,
      alter column from_revisions set storage main,
      alter column old_prices set storage main,
      alter column new_prices set storage main;
    alter table list_changes enable row level security, force row level security;
    create policy list_changes_of_account on list_changes
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- As list_changes, of months of a calendar list: 31 prices each.
    create table calendar_changes (
      account_id bigint not null,
      price_list_id bigint not null,
      revision integer not null,
      slice smallint not null,
      first_row_id bigint not null,
      change text collate "C" not null constraint calendar_changes_change_check check (change in ('priced', 'added', 'removed')),
      row_ids bigint[] not null,
      dimensions integer[] not null,
      months date[] not null,
      from_revisions integer[] not null,
      old_prices numeric[] not null,
      new_prices numeric[] not null,
      constraint calendar_changes_pkey primary key (account_id, price_list_id, revision, change, slice, first_row_id)
    ) with (toast_tuple_target = 1024);
    alter table calendar_changes enable row level security, force row level security;
    create policy calendar_changes_of_account on calendar_changes
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- Prices that were sent again as they are: when their sender saw them last, and the revision of the list by then.
    create table confirmed_prices (
      account_id bigint not null,
      price_list_id bigint not null,
      row_id bigint not null,
      dimension integer not null,
      -- -infinity in a list without days.
      date date not null,
      observed_at timestamptz not null,
      revision integer not null,
      constraint confirmed_prices_pkey primary key (account_id, price_list_id, row_id, dimension, date)
    ) with (fillfactor = 70);
    alter table confirmed_prices enable row level security, force row level security;
    create policy confirmed_prices_of_account on confirmed_prices
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- Rows that have left a list, as they were. Their months stay in calendar_months.
    create table removed_rows (
      account_id bigint not null,
      price_list_id bigint not null,
      row_id bigint not null,
      product_id bigint not null,
      code text collate "C" not null,
      extensions text[] collate "C" not null,
      extension_key text collate "C" not null,
      prices numeric[] not null,
      dynamic_attributes jsonb,
      since integer not null,
      added_version integer not null,
      removed_version integer not null,
      -- A row that a revert brings back may leave again.
      constraint removed_rows_pkey primary key (account_id, price_list_id, row_id, removed_version)
    );
    create index removed_rows_key on removed_rows (account_id, price_list_id, code, extension_key);
    alter table removed_rows enable row level security, force row level security;
    create policy removed_rows_of_account on removed_rows
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- What promotions were until they were replaced or deleted.
    alter table promotions add column changed_at timestamptz not null default '-infinity';
    create table promotion_versions (
      account_id bigint not null,
      id bigint not null,
      from_at timestamptz not null,
      until_at timestamptz not null,
      name text collate "C" not null,
      kind text not null,
      value numeric not null,
      valid_from date not null,
      valid_to date not null,
      price_lists text[] collate "C",
      product_filters jsonb,
      price_dimensions text[] collate "C",
      constraint promotion_versions_pkey primary key (account_id, id, from_at)
    );
    alter table promotion_versions enable row level security, force row level security;
    create policy promotion_versions_of_account on promotion_versions
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
    create policy list_revisions_of_owner on list_revisions to current_user using (true);
    create policy list_changes_of_owner on list_changes to current_user using (true);
    create policy calendar_changes_of_owner on calendar_changes to current_user using (true);
    create policy removed_rows_of_owner on removed_rows to current_user using (true);
    create policy confirmed_prices_of_owner on confirmed_prices to current_user using (true);
    create policy promotion_versions_of_owner on promotion_versions to current_user using (true);
  `.execute(db)
}
