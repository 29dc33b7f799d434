import fc from 'fast-check'
import { hostileTexts } from '../../helpers/hostile.ts'

export type Value = string | number | boolean
export type ColumnType = 'string' | 'integer' | 'number' | 'boolean' | 'date'

/** Any well-formed character but NUL. */
const character = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom(...'abcAB01 _-'),
  )
  .map((text) => (text === '\0' ? '\u0001' : text))

/** Codes and names: 1 to 255 characters of any script, hostile texts, the longest. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: character, minLength: 1, maxLength: 8 }) },
  { weight: 4, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(255), 'ß'.repeat(255), '😀'.repeat(60)) },
)

/** A number that is not drawn twice; fast-check's preferred edges would repeat once in 4,000 pairs. */
const freshNumber = fc.noBias(fc.maxSafeNat())

/** Idempotency keys unique to this run. */
export const freshKey = freshNumber.map(String)

/** Names unique to this run. */
export const freshName = fc
  .tuple(text, freshNumber)
  .map(([name, number]) => `${[...name].slice(0, 200).join('')}#${number}`)

/** At most 15 significant digits and 6 decimals, at least 0. */
export const money: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 100_000 }).map((cents) => cents / 100) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.integer({ min: 0, max: 999_999_999_999_999 }), fc.integer({ min: 0, max: 6 }))
      .map(([digits, scale]) => Number(`${digits}e-${scale}`)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, 0.000001, 999999999.999999, 999999999999999, 0.1, 1e15, 2.675),
  },
)

const edgeDays = [
  '2024-02-29',
  '2000-02-29',
  '2025-03-30',
  '2025-10-26',
  '2026-03-08',
  '2026-11-01',
  '2025-12-31',
  '2026-01-01',
  '1970-01-01',
  '2011-12-30',
  '1900-02-28',
  '0001-01-01',
  '9999-12-31',
]

/** A calendar day: often a leap day, a clock change or the end of a year. */
export const day: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...edgeDays),
  fc
    .integer({ min: -719_162, max: 2_932_896 })
    .map((days) => new Date(days * 86_400_000).toISOString())
    .map((iso) => iso.slice(0, 10)),
  fc.integer({ min: 0, max: 730 }).map((days) => dayAfter('2026-01-01', days)),
)

/** The day some days later. */
export function dayAfter(from: string, days: number): string {
  const time = new Date(`${from}T00:00:00Z`).getTime() + days * 86_400_000
  return new Date(time).toISOString().slice(0, 10)
}

const signed = fc.tuple(money, fc.boolean()).map(([value, negative]) => {
  return negative && value !== 0 ? -value : value
})

/** Values of a column of each type. */
export const valuesOf: Record<ColumnType, fc.Arbitrary<Value>> = {
  string: text,
  integer: fc.oneof(
    fc.integer({ min: -10, max: 100 }),
    fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 10, 9, -1),
  ),
  number: signed,
  boolean: fc.boolean(),
  date: day,
}

/** A value that a column of this type refuses, with the error code. */
export const faultyValuesOf: Record<ColumnType, fc.Arbitrary<[value: unknown, code: string]>> = {
  string: fc.constantFrom([5, 'type'], ['', 'length'], ['y'.repeat(256), 'length'], [true, 'type']),
  integer: fc.constantFrom(['1', 'type'], [1.5, 'type'], [false, 'type'], [2 ** 53, 'type']),
  number: fc.constantFrom(['1', 'type'], [0.1234567, 'format'], [true, 'type'], [[1], 'type']),
  boolean: fc.constantFrom([0, 'type'], ['true', 'type'], ['', 'type']),
  date: fc.constantFrom([20260101, 'type'], ['2026-02-30', 'format'], ['1.1.2026', 'format']),
}

/** The text that orders and identifies a value. */
export function canonical(value: Value): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value)
  return value.toFixed(6).length > 20 || Math.abs(value) >= 1e-5
    ? String(value)
    : value.toFixed(6).replace(/0+$/, '')
}
