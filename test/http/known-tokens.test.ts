import t from 'tap'
import { type Caller, KnownTokens } from '../../src/http/known-tokens.ts'

t.test('no more than 1,000 tokens are kept, however many come', async (t) => {
  const known = new KnownTokens()
  const caller: Caller = { account: 1, subject: '1', type: 'user', scopes: new Set() }
  const term = { expiresAt: Date.now(), until: performance.now() + 60_000 }
  const tokens = Array.from({ length: 5000 }, (_, index) => `token ${index}`)
  for (const token of tokens) known.add(token, { caller, ...term })
  const kept = tokens.filter((token) => known.find(token))
  t.ok(kept.length <= 1000, `${kept.length} are kept`)
  t.equal(kept.at(-1), tokens.at(-1), 'the last one is')
})
