import { type Kysely, sql } from 'kysely'

/**
 * Each list with the newest revision whose changes nobody needs. Plans that can be applied need those since they were
 * made, and a plan to undo those that it undoes; the lowest price needs those since the first mistake whose undo is kept,
 * which set a price of the kept history.
 */
const lists = sql.raw(`(
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
        ) as l`)

/**
 * The kept history of a list begins at a moment, not at the revision in force then: promotions from before that moment
 * are gone. They are kept a day longer, for reads that began before the moment moved. Older history that a plan or a
 * mistake needs is kept, but cannot be read.
 *
 * The moment moves in a transaction of its own: it locks all lists, and deleting takes long.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function expire_history(days integer) returns void
      language sql security definer set search_path = pg_catalog, pg_temp
      as $$
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
      $$;
    revoke execute on function expire_history(integer) from public;
    grant execute on function expire_history(integer) to pricewell_app;

    create or replace function delete_expired_history(days integer) returns void
      language sql security definer set search_path = pg_catalog, pg_temp
      as $$
        delete from public.list_changes c using ${lists}
          where c.account_id = l.account_id and c.price_list_id = l.id and c.revision <= l.unneeded;
        delete from public.calendar_changes c using ${lists}
          where c.account_id = l.account_id and c.price_list_id = l.id and c.revision <= l.unneeded;
        delete from public.list_revisions v using ${lists}
          where v.account_id = l.account_id and v.price_list_id = l.id and v.revision < l.unneeded;
        delete from public.calendar_months m using public.removed_rows r, ${lists}
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
        delete from public.removed_rows r using ${lists}
          where r.account_id = l.account_id and r.price_list_id = l.id and r.removed_version <= l.unneeded;
        delete from public.promotion_versions where until_at < now() - make_interval(days => days + 1);
        delete from public.confirmed_prices where observed_at < now() - make_interval(days => days);
      $$;
    revoke execute on function delete_expired_history(integer) from public;
    grant execute on function delete_expired_history(integer) to pricewell_app;
  `.execute(db)
}
