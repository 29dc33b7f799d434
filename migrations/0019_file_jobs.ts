import { type Kysely, sql } from 'kysely'

/**
 * Files that jobs load: their bytes in pieces, compressed, until the job ends. The pieces are there before their job,
 * which gets its id, and so its turn, when the file is whole; the reference is looked at when both are committed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table jobs
      alter column price_list_id drop not null,
      drop constraint jobs_kind_check,
      add constraint jobs_kind_check check (kind in ('add-products', 'sync-with-catalog', 'load-file')),
      add constraint jobs_price_list_check check (price_list_id is not null or kind = 'load-file'),
      add column operation text collate "C",
      add column media_type text collate "C",
      add column file_id uuid,
      add constraint jobs_file_key unique (account_id, file_id)`.execute(db)
  await sql`
    create table file_pieces (
      account_id bigint not null,
      file_id uuid not null,
      number integer not null,
      bytes bytea not null,
      constraint file_pieces_pkey primary key (account_id, file_id, number),
      constraint file_pieces_file_fkey foreign key (account_id, file_id)
        references jobs (account_id, file_id) on delete cascade deferrable initially deferred
    )`.execute(db)
  // They are compressed already.
  await sql`alter table file_pieces alter column bytes set storage external`.execute(db)
  await sql`alter table file_pieces enable row level security, force row level security`.execute(db)
  await sql`
    create policy file_pieces_of_account on file_pieces
      using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
}
