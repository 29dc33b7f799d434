import { type Kysely, sql } from 'kysely'

/**
 * Asks the planner for its estimates: the statistics of a table with forced row-level security are hidden from its
 * owner, unless that is a superuser, and without them each load analyzed the table. The account counts as well: if the
 * planner does not know it, it expects one row of the account's list, and compares each with all.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function analyze_loaded(name text, place text, value bigint, row_count bigint) returns void
      language plpgsql security definer
      set search_path = pg_catalog, pg_temp set default_statistics_target = 30 set client_min_messages = error
      as $$
      declare
        pages bigint;
        known_pages bigint;
        condition text;
        plan jsonb;
        is_known boolean := true;
      begin
        if name not in ('products', 'product_attributes', 'price_list_rows', 'calendar_months', 'removed_rows', 'plan_rows',
            'sales', 'competitor_prices', 'agreements') then
          raise 'not a table of loads: %', name;
        end if;
        select pg_relation_size(oid) / 8192, relpages into pages, known_pages
          from pg_class where oid = format('public.%I', name)::regclass;
        if pages <= 64 then return; end if;
        if pages < 64 + known_pages * 1.5 then
          if row_count < 2000 then return; end if;
          foreach condition in array array[
            format('%I = %L', place, value),
            format('account_id = %L', current_setting('app.account'))
          ] loop
            execute format('explain (format json) select from public.%I where %s', name, condition) into plan;
            is_known := is_known and (plan #>> '{0,Plan,Plan Rows}')::bigint >= row_count / 2;
          end loop;
          if is_known then return; end if;
        end if;
        if pg_try_advisory_xact_lock(hashtextextended('analyze ' || name, 0)) then
          execute format('analyze (skip_locked) public.%I', name);
        end if;
      end $$;
  `.execute(db)
}
