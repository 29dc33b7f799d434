import { type Kysely, sql } from 'kysely'

/**
 * The planner does not know rows that have just been loaded: it takes a list of 100,000 rows for one of a few, and joins
 * by comparing every key with every row, for minutes. So a load has its table analyzed when the table has grown by half
 * since the last time, or when the planner does not know the owner of the rows. Only the owner of a table may analyze it.
 * A target of 30 reads 9,000 pages in 60 ms, the default 30,000 in 210 ms. Where a VACUUM holds the table, which may take
 * hours, the load goes on without, and the next one analyzes it. The planner is asked for its estimates, because the
 * statistics of a table with forced row-level security are hidden from its owner.
 *
 * Small loads count as well: where the planner expects next to no rows of an owner, it compares each row with all of
 * them, and autovacuum waits until a tenth of the table has changed. A sample of 9,000 rows is likely to miss an owner of
 * fewer rows than `sampled_min`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function analyze_loaded(name text, place text, value bigint, row_count bigint) returns void
      language plpgsql security definer
      set search_path = pg_catalog, pg_temp set default_statistics_target = 30 set client_min_messages = error
      as $$
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
      end $$;
    revoke execute on function analyze_loaded(text, text, bigint, bigint) from public;
    grant execute on function analyze_loaded(text, text, bigint, bigint) to pricewell_app;
  `.execute(db)
}
