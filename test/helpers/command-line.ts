import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { childEnvironment, withoutLoader } from './process.ts'
import type { TestAccount, TestService } from './service.ts'

const bin = join(import.meta.dirname, '../../bin/pricewell.js')

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** The command line, run with a home directory of its own. */
export interface CommandLine {
  /** Working directory of the commands. */
  home: string
  /** Writes files in it, by their names. */
  write(files: Record<string, string | Buffer>): void
  read(name: string): string
  run(...args: string[]): Promise<Ended>
  /** As `run`, with standard input. */
  pipe(input: string, ...args: string[]): Promise<Ended>
  /** Runs a line of Bash in which `pricewell` is the command, with `pipefail`. */
  shell(line: string): Promise<Ended>
  /** As `run`, on a terminal; `input` is typed. Returns both outputs as one text. */
  type(input: string, ...args: string[]): Promise<{ code: number | null; screen: string }>
  /** As `type`; Ctrl-C is typed when the screen shows `sight`. */
  interrupt(sight: string, ...args: string[]): Promise<{ code: number | null; screen: string }>
}

/** A command line with its own home; `settings` are environment variables. */
export function commandLine(t: Test, settings: Record<string, string> = {}): CommandLine {
  const home = mkdtempSync(join(tmpdir(), 'pricewell-home-'))
  t.teardown(() => rmSync(home, { recursive: true }))
  const env = childEnvironment({ HOME: home, ...settings })
  const start = async (input: string, command: string, ...args: string[]): Promise<Ended> => {
    const child = spawn('env', withoutLoader(command, args), { cwd: home, env })
    child.stdin.on('error', () => undefined).end(input)
    const code = new Promise<number | null>((resolve) => child.on('exit', resolve))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await code, stdout, stderr }
  }
  const pipe = (input: string, ...args: string[]) => start(input, process.execPath, bin, ...args)
  const shell = (line: string) =>
    start(
      '',
      'bash',
      '-c',
      `set -o pipefail; pricewell() { '${process.execPath}' '${bin}' "$@"; }; ${line}`,
    )
  const onTerminal = (args: string[]) => {
    const command = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ')
    const terminal = { cwd: home, env: { TERM: 'xterm', ...env } }
    const script = withoutLoader('script', ['-qefc', command, '/dev/null'])
    const child = spawn('env', script, terminal)
    const code = new Promise<number | null>((resolve) => child.on('exit', resolve))
    const ended = async () => ({ screen: await text(child.stdout), code: await code })
    return { child, ended }
  }
  const type = async (input: string, ...args: string[]) => {
    const { child, ended } = onTerminal(args)
    child.stdin.write(input)
    return ended()
  }
  const interrupt = async (sight: string, ...args: string[]) => {
    const { child, ended } = onTerminal(args)
    let seen = ''
    child.stdout.on('data', (piece) => {
      if (seen.includes(sight)) return
      seen += piece
      if (seen.includes(sight)) child.stdin.write('\x03')
    })
    return ended()
  }
  const write = (files: Record<string, string | Buffer>) => {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(home, name), content)
  }
  const read = (name: string) => readFileSync(join(home, name), 'utf8')
  const run = (...args: string[]) => pipe('', ...args)
  return { home, write, read, run, pipe, shell, type, interrupt }
}

/** The command line of a user of this account, and files beside it. */
export function userOf(
  t: Test,
  service: TestService,
  { token }: Pick<TestAccount, 'token'>,
  files: Record<string, string | Buffer> = {},
): CommandLine {
  const PRICEWELL_URL = service.app.listeningOrigin
  const user = commandLine(t, { PRICEWELL_URL, PRICEWELL_TOKEN: token })
  user.write(files)
  return user
}
