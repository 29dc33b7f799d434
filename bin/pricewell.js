#!/usr/bin/env node
// Runs on any Node from 20.12 on. A clone runs the TypeScript sources and the service needs a newer Node than that: where
// the present one is too old, the one that comes with the packages takes over.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Halves the time of a command. Node 20 has no such cache.
module.enableCompileCache?.()
const [major, minor] = process.versions.node.split('.').map(Number)
const source = new URL('../src/cli/main.ts', import.meta.url)
const entry = existsSync(source) ? source : new URL('../dist/src/cli/main.js', import.meta.url)
const newerNode = major > 22 || (major === 22 && minor >= 18) ? undefined : findNewerNode()

if (newerNode) runWith(newerNode)
else if (major < 22 && (entry === source || process.argv[2] === 'serve')) fail()
else await import(entry)

function findNewerNode() {
  const { resolve } = module.createRequire(import.meta.url)
  const { platform, arch } = process
  const names = [
    `node-${platform === 'win32' ? 'win' : platform}-${arch}`,
    `node-bin-${platform}-${arch}`,
  ]
  for (const name of names) {
    try {
      const bin = join(dirname(resolve(`${name}/package.json`)), 'bin')
      return [join(bin, 'node'), join(bin, 'node.exe')].find(existsSync)
    } catch {}
  }
  return undefined
}

function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143)
  })
}

function fail() {
  console.error(
    `Node ${process.versions.node} is too old: install the packages (npm ci), or Node 22.18 or newer.`,
  )
  process.exitCode = 1
}
