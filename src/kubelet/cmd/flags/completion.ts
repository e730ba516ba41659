/** Generates completion scripts for bash, zsh and fish from the tables of flags and commands. */
import { agentFlags } from './flags-agent.ts';
import { commands } from './flags-commands.ts';
import { configFlags } from './flags-config.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The part of a flag, of the agent or of a command, that completion needs. */
interface Completable {
  readonly name: string;
  readonly shorthand: string | undefined;
  readonly takesValue: boolean;
  readonly values: readonly string[];
  readonly completes: 'file' | 'folder' | undefined;
  readonly help: string;
}

const agent: readonly Completable[] = [...agentFlags, ...configFlags]
  .filter(({ ignored }) => ignored !== true)
  .map(({ name, shorthand, type, values, completes, help }) => ({
    name,
    shorthand,
    takesValue: type !== 'bool' && type !== 'version',
    values: (values ?? []).filter((value) => value !== ''),
    completes,
    help,
  }));

const commandFlags = (flags: (typeof commands)[number]['flags']): Completable[] => [
  ...flags.map(({ name, shorthand, value, values, help }) => ({
    name,
    shorthand,
    takesValue: value !== undefined,
    values: values ?? [],
    completes: value === 'PATH' ? ('file' as const) : undefined,
    help,
  })),
  { name: 'help', shorthand: 'h', takesValue: false, values: [], completes: undefined, help: 'Explain the command.' },
];

const namesOf = (flags: readonly Completable[]): string => flags.map(({ name }) => `--${name}`).join(' ');
/** Prints one pod name per line, or nothing when no agent runs. */
const POD_NAMES = 'kubelet pods -o name 2>/dev/null';

function bashValues(flags: readonly Completable[]): string[] {
  return flags.flatMap(({ name, shorthand, takesValue, values, completes }) => {
    if (!takesValue) return [];
    const pattern = shorthand === undefined ? `--${name}` : `--${name}|-${shorthand}`;
    const reply =
      completes === undefined
        ? `COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$cur"))`
        : `COMPREPLY=($(compgen ${completes === 'file' ? '-f' : '-d'} -- "$cur"))`;
    return [`        ${pattern}) ${reply}; return ;;`];
  });
}

function bashCase(label: string, flags: readonly Completable[], positional: string): string {
  return [
    `    ${label})`,
    '      case "$prev" in',
    ...bashValues(flags),
    '      esac',
    `      if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W '${namesOf(flags)}' -- "$cur"))`,
    `      else ${positional}; fi`,
    '      ;;',
  ].join('\n');
}

function positionalReply(completes: 'pod' | 'file' | 'shell' | undefined): string {
  switch (completes) {
    case 'pod':
      return `COMPREPLY=($(compgen -W "$(${POD_NAMES})" -- "$cur"))`;
    case 'file':
      return 'COMPREPLY=($(compgen -f -- "$cur"))';
    case 'shell':
      return `COMPREPLY=($(compgen -W '${shells.join(' ')}' -- "$cur"))`;
    case undefined:
      return 'COMPREPLY=()';
  }
}

function bashScript(): string {
  const names = commands.map(({ name }) => name).join(' ');
  return [
    '# bash completion for kubelet; load it with: source <(kubelet completion bash)',
    '_kubelet() {',
    '  local cur prev',
    '  cur="${COMP_WORDS[COMP_CWORD]}"',
    '  prev="${COMP_WORDS[COMP_CWORD-1]}"',
    '  COMPREPLY=()',
    '  if [[ "$cur" == "=" ]]; then cur=""; elif [[ "$prev" == "=" ]]; then prev="${COMP_WORDS[COMP_CWORD-2]}"; fi',
    '  if (( COMP_CWORD == 1 )) && [[ "$cur" != -* ]]; then',
    `    COMPREPLY=($(compgen -W '${names}' -- "$cur"))`,
    '    return',
    '  fi',
    '  case "${COMP_WORDS[1]}" in',
    ...commands.map(({ name, flags, completes }) => bashCase(name, commandFlags(flags), positionalReply(completes))),
    bashCase('*', agent, 'COMPREPLY=()'),
    '  esac',
    '}',
    'complete -o default -F _kubelet kubelet',
    '',
  ].join('\n');
}

/** Escapes a text for single quotes of a shell. */
const inQuotes = (text: string): string => text.replaceAll("'", `'\\''`);
/** Escapes a text for the brackets of zsh's _arguments, inside single quotes. */
const zshText = (text: string): string => inQuotes(text.replace(/[[\]:\\]/g, (sign) => `\\${sign}`));

function zshArguments(flags: readonly Completable[]): string[] {
  return flags.flatMap(({ name, shorthand, takesValue, values, completes, help }) => {
    const choice =
      values.length > 0
        ? `(${values.join(' ')})`
        : completes === undefined
          ? ' '
          : completes === 'file'
            ? '_files'
            : '_files -/';
    const value = takesValue ? `: :${choice}` : '';
    const long = `'--${name}${takesValue ? '=' : ''}[${zshText(help)}]${value}'`;
    return shorthand === undefined || shorthand === name ? [long] : [`'-${shorthand}[${zshText(help)}]${value}'`, long];
  });
}

function zshScript(): string {
  const positional = {
    pod: `'*: :($(${inQuotes(POD_NAMES)}))'`,
    file: `'*: :_files'`,
    shell: `'*: :(${shells.join(' ')})'`,
  };
  const branch = (label: string, lines: readonly string[]): string =>
    `    ${label})\n      _arguments -S \\\n        ${lines.join(' \\\n        ')}\n      ;;`;
  return [
    '#compdef kubelet',
    '# zsh completion for kubelet; load it with: source <(kubelet completion zsh)',
    '_kubelet() {',
    '  local -a commands',
    '  commands=(',
    ...commands.map(({ name, help }) => `    '${name}:${zshText(help)}'`),
    '  )',
    '  if (( CURRENT == 2 )) && [[ "$words[2]" != -* ]]; then',
    "    _describe -t commands 'command' commands",
    '    return',
    '  fi',
    '  case "$words[2]" in',
    ...commands.map(({ name, flags, completes }) =>
      branch(name, [...zshArguments(commandFlags(flags)), ...(completes === undefined ? [] : [positional[completes]])]),
    ),
    branch('*', zshArguments(agent)),
    '  esac',
    '}',
    'compdef _kubelet kubelet',
    '',
  ].join('\n');
}

function fishFlag(condition: string, { name, shorthand, takesValue, values, completes, help }: Completable): string {
  const short = shorthand === undefined ? '' : ` -s ${shorthand}`;
  const long = name === shorthand ? '' : ` -l ${name}`;
  const value = !takesValue
    ? ''
    : values.length > 0
      ? ` -x -a '${values.join(' ')}'`
      : completes === undefined
        ? ' -x'
        : completes === 'folder'
          ? " -x -a '(__fish_complete_directories)'"
          : ' -r -F';
  return `complete -c kubelet -n '${condition}'${short}${long}${value} -d '${help.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function fishScript(): string {
  const names = commands.map(({ name }) => name).join(' ');
  const none = `not __fish_seen_subcommand_from ${names}`;
  const positional = {
    pod: `-f -a '(${POD_NAMES.replaceAll("'", "\\'")})'`,
    file: '-F',
    shell: `-f -a '${shells.join(' ')}'`,
  };
  const lines = [
    '# fish completion for kubelet; load it with: kubelet completion fish | source',
    'complete -c kubelet -f',
  ];
  for (const { name, help, flags, completes } of commands) {
    const here = `__fish_seen_subcommand_from ${name}`;
    lines.push(`complete -c kubelet -n '__fish_use_subcommand' -a ${name} -d '${help.replaceAll("'", "\\'")}'`);
    for (const flag of commandFlags(flags)) lines.push(fishFlag(here, flag));
    if (completes !== undefined) lines.push(`complete -c kubelet -n '${here}' ${positional[completes]}`);
  }
  for (const flag of agent) lines.push(fishFlag(none, flag));
  return `${lines.join('\n')}\n`;
}

/** Returns the complete script for a shell. */
export function completionScript(shell: Shell): string {
  const scripts: Readonly<Record<Shell, () => string>> = { bash: bashScript, zsh: zshScript, fish: fishScript };
  return scripts[shell]();
}

export const isShell = (text: string): text is Shell => (shells as readonly string[]).includes(text);
