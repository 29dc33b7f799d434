import t from 'tap'
import { startTestService } from '../../helpers/service.ts'
import { answerBugs } from './planted/answers.ts'
import { hunt } from './planted/hunt.ts'
import { requestBugs } from './planted/requests.ts'
import { statementBugs } from './planted/statements.ts'
import { fuzz, openTarget } from './sessions.ts'

const service = await startTestService(t)
const target = await openTarget(service, service.url, service.jwtSecret)
t.teardown(() => target.close())

t.test('the service does what a model of it does', async (t) => {
  const { tally, failures } = await fuzz(target, { runs: 1000, seed: 1, failuresMax: 1 })
  for (const { seed, error, trace } of failures)
    t.fail(`npm run test:fuzz -- --seed ${seed}: ${error.message}`, { last: trace.at(-1) })
  t.ok(tally.total >= 1000, `${tally.total} inputs`)
  for (const seldom of ['cancelJob', 'readJobEvents', 'login', 'readContractYaml'])
    t.match(tally.table(), seldom)
  t.strictSame(tally.poor(), [], 'operations that are answered 2xx too seldom to say much')
})

t.test('a bug would be found', async (t) => {
  for (const bug of [requestBugs[5], answerBugs[1], statementBugs[9]]) {
    const found = bug && (await hunt(target, bug, { runs: 2000, seed: 1 }))
    t.ok(found?.message, bug?.name ?? '')
  }
})

t.test('what fails without the bug, too, does not find it', async (t) => {
  const deliver = async () => ({ statusCode: 500, headers: {}, body: '' })
  const [bug] = requestBugs
  const found = bug && (await hunt({ ...target, deliver }, bug, { runs: 100, seed: 1 }))
  t.match(found, { message: undefined, accident: /answered 500/ })
})
