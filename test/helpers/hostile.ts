/** Texts that break naive parsers of array literals, SQL, JSON Pointers or objects. */
export const hostileTexts = [
  'a"b',
  "a'b; drop table products; --",
  'back\\slash',
  '\\"',
  '{a,b}',
  '{}',
  'a,b',
  ',',
  'NULL',
  'null',
  'line\nbreak\r\n\ttab',
  ' spaces around ',
  'a/b~c~1d~0e',
  '$1 %s $x',
  '\u0001\u007f',
  'cafe\u0301',
  'caf\u00e9',
  '😀𝒳\u{10ffff}',
  '\ufeffbom',
  'A',
  'a',
  'constructor',
  'toString',
  'hasOwnProperty',
]

/** Characters outside the basic plane: two UTF-16 units, four bytes in UTF-8. */
export const astral = (length: number): string => '😀'.repeat(length)
