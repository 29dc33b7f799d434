import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dumpSchema } from '../../src/cli/dump-schema.ts'
import { cloneDatabase, emptyDatabase, query } from '../helpers/database.ts'

t.test('generated/schema.sql makes the schema that the migrations make', async (t) => {
  const [migrated, restored] = await Promise.all([cloneDatabase(), emptyDatabase()])
  const file = join(import.meta.dirname, '../../generated/schema.sql')
  await query(restored.url, readFileSync(file, 'utf8'))
  t.equal(await dumpSchema(restored.url), await dumpSchema(migrated.url))
  await Promise.all([migrated.drop(), restored.drop()])
})
