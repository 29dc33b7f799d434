import t from 'tap'
import { KnownTokens } from '../../src/http/authentication.ts'

t.test('no more than 1,000 tokens are kept, however many come', async (t) => {
  const known = new KnownTokens()
  const caller = {
    account: 1,
    subject: '1',
    isExternal: false,
    scopes: new Set<string>(),
  }
  const tokens = Array.from({ length: 5000 }, (_, index) => `token ${index}`)
  for (const token of tokens) known.add(token, caller, Date.now())
  const kept = tokens.filter((token) => known.find(token))
  t.ok(kept.length <= 1000, `${kept.length} are kept`)
  t.equal(kept.at(-1), tokens.at(-1), 'the last one is')
})
