import t from 'tap'
import { commandLine } from '../helpers/command-line.ts'
import { cloneDatabase } from '../helpers/database.ts'

for (const command of ['distribute', 'status']) {
  t.test(`cluster ${command} refuses a plain PostgreSQL and says what to do`, async (t) => {
    const database = await cloneDatabase()
    t.teardown(database.drop)
    const cli = commandLine(t, { DATABASE_URL: database.url })
    const { code, stdout, stderr } = await cli.run('cluster', command, '--json')
    t.strictSame([code, stdout], [1, ''])
    t.match(
      JSON.parse(stderr).message,
      /^this database is a plain PostgreSQL: install Citus .*OPERATIONS\.md/,
    )
  })

  t.test(`cluster ${command} refuses the embedded database`, async (t) => {
    const { code, stderr } = await commandLine(t).run('cluster', command)
    t.equal(code, 2)
    t.match(stderr, /set DATABASE_URL to the coordinator/)
  })
}
