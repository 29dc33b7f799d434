import fc from 'fast-check'
import t from 'tap'
import { extensionKey } from '../../src/catalog/row-key.ts'

t.test('extensions are looked up by their JSON, whatever is in them', async (t) => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '"', '\\', '\n', '\u001f', '\u007f', '\u2028', '\ud800', '\u{1f4a9}', 'é'),
  )
  fc.assert(
    fc.property(
      fc.array(fc.option(text), { maxLength: 3 }),
      (extensions) => extensionKey(extensions) === JSON.stringify(extensions),
    ),
    { numRuns: 5000 },
  )
  t.pass()
})
