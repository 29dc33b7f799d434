import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { answer, type Program } from '../program.ts'

const shells = ['bash', 'zsh', 'fish'] as const

export function addCompletion(program: Program): void {
  program
    .command('completion')
    .description('Writes a script that makes a shell complete commands, options and their values.')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  pricewell completion bash >> ~/.bashrc
  pricewell completion zsh >> ~/.zshrc
  pricewell completion fish > ~/.config/fish/completions/pricewell.fish`,
    )
    .action((shell) => {
      const script = scripts[shell](wordsOf(program as unknown as CommandUnknownOpts))
      answer({ shell, script }, script)
    })
}

/** The words that may follow a command or one of its options; '' is the program itself. */
type Words = Map<string, string[]>

function wordsOf(program: CommandUnknownOpts): Words {
  const help = '--help'
  const shared = program.options
    .flatMap(({ long }) => long ?? [])
    .filter((one) => one !== '--version')
  const words: Words = new Map([
    ['', [...program.commands.map((command) => command.name()), help, '--version']],
  ])
  const add = (command: CommandUnknownOpts, path: string[]) => {
    const names = [...path, command.name()]
    const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
    const subcommands = command.commands.map((one) => one.name())
    const options = command.options.flatMap(({ long }) => long ?? [])
    words.set(names.join(' '), [...subcommands, ...choices, ...options, ...shared, help])
    for (const { long, argChoices } of command.options)
      if (argChoices) words.set(`${names.join(' ')} ${long}`, argChoices)
    for (const one of command.commands) add(one, names)
  }
  for (const command of program.commands) add(command, [])
  return words
}

/** Commands of more words come first, because the first matching pattern counts. */
function bash(words: Words): string {
  const cases = [...words]
    .filter(([command]) => command !== '')
    .sort(([a], [b]) => b.split(' ').length - a.split(' ').length)
    .map(([command, all]) => {
      const [names, option] = command.split(' --')
      const pattern = option === undefined ? `'${names} '*` : `'${names} '*'--${option} '`
      return `    ${pattern}) words='${all.join(' ')}' ;;`
    })
  return `_pricewell() {
  local words='${words.get('')?.join(' ')}'
  local given=$((COMP_CWORD - 1))
  local line="\${COMP_WORDS[*]:1:$given} "
  case "$line" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _pricewell pricewell`
}

const scripts = {
  bash,
  zsh: (words: Words) =>
    `autoload -Uz compinit bashcompinit\n(( $+functions[compdef] )) || compinit\nbashcompinit\n${bash(words)}`,
  fish: (words: Words) =>
    [...words]
      .map(([command, all]) => {
        const seen = command
          .split(' ')
          .map((word) =>
            word.startsWith('--')
              ? `__fish_prev_arg_in ${word}`
              : `__fish_seen_subcommand_from ${word}`,
          )
        const when = command === '' ? '__fish_use_subcommand' : seen.join('; and ')
        return `complete -c pricewell -n '${when}' -a '${all.join(' ')}'`
      })
      .join('\n'),
}
