import { type Kysely, sql } from 'kysely'

/** Plans: what a bulk write would do, row by row, to be applied later. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table plans (
      account_id bigint not null constraint plans_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      -- null for promotions.
      price_list_id bigint,
      operation text not null constraint plans_operation_check check (operation in
        ('update_prices', 'add_products', 'remove_products', 'sync', 'promotions', 'revert', 'reprice')),
      status text not null default 'open' constraint plans_status_check
        check (status in ('open', 'scheduled', 'applied', 'failed', 'discarded', 'expired')),
      base_revision integer,
      -- Who made it, and why; then who applies it.
      origin jsonb not null,
      -- What the application needs of the call.
      call jsonb not null default '{}',
      summary jsonb not null default '{}',
      violations jsonb not null default '[]',
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      apply_at timestamptz,
      ended_at timestamptz,
      revision integer,
      error jsonb,
      constraint plans_pkey primary key (account_id, id)
    ) with (fillfactor = 70);
    create index plans_of_list on plans (account_id, price_list_id) where status in ('open', 'scheduled');
    alter table plans enable row level security, force row level security;
    create policy plans_of_account on plans
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
    create policy plans_of_owner on plans to current_user using (true);

    create table plan_rows (
      account_id bigint not null,
      plan_id bigint not null,
      -- By code, extensions, dimension and day; promotions by name.
      place integer not null,
      -- In the payload of the call.
      position integer,
      row_id bigint,
      product_id bigint,
      code text collate "C",
      extensions text[] collate "C",
      extension_key text collate "C",
      dimension integer,
      date date,
      name text collate "C",
      action text not null,
      reason text,
      old numeric,
      new numeric,
      change_percent numeric,
      margin_before numeric,
      margin_after numeric,
      violations text[] not null default '{}',
      inputs jsonb,
      -- Of a promotion.
      before jsonb,
      after jsonb,
      covered_rows integer,
      constraint plan_rows_pkey primary key (account_id, plan_id, place)
    );
    alter table plan_rows enable row level security, force row level security;
    create policy plan_rows_of_account on plan_rows
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
    create policy plan_rows_of_owner on plan_rows to current_user using (true);

    alter table list_revisions add column plan_id bigint;
    alter table jobs drop constraint jobs_kind_check, drop constraint jobs_price_list_check;
    alter table jobs
      add constraint jobs_kind_check check (kind in
        ('add-products', 'sync-with-catalog', 'load-file', 'revert', 'make-plan', 'apply-plan')),
      add constraint jobs_price_list_check
        check (price_list_id is not null or kind in ('load-file', 'apply-plan'));

    -- Plans end when nobody applies them, and are kept for 30 days from then on.
    create function delete_expired_plans() returns void
      language sql security definer set search_path = pg_catalog, pg_temp
      as $$
        update public.plans set status = 'expired', ended_at = expires_at
          where status in ('open', 'scheduled') and expires_at < now();
        delete from public.plan_rows r using public.plans p
          where r.account_id = p.account_id and r.plan_id = p.id and p.ended_at < now() - interval '30 days';
        delete from public.plans where ended_at < now() - interval '30 days';
      $$;
    revoke execute on function delete_expired_plans() from public;
    grant execute on function delete_expired_plans() to pricewell_app;
  `.execute(db)
}
