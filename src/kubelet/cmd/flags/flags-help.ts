/** Generates `kubelet --help` from the tables of flags and commands. */
import { applyDefaults, applyLegacyDefaults } from '../../model/config/defaults.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { fieldAt } from '../config/config-merge.ts';
import { agentFlags } from './flags-agent.ts';
import { commands } from './flags-commands.ts';
import type { CommandSpec } from './flags-commands.ts';
import { configFlags } from './flags-config.ts';
import { flagGroups } from './flags-types.ts';
import type { FlagSpec } from './flags-types.ts';

/** The names of value kinds in the help text. Booleans have none. */
const valueNames: Readonly<Record<FlagSpec['type'], string>> = {
  string: 'TEXT',
  bool: '',
  int32: 'NUMBER',
  int64: 'NUMBER',
  uint31: 'LEVEL',
  duration: 'DURATION',
  quantity: 'QUANTITY',
  ip: 'IP',
  list: 'A,B,...',
  map: 'KEY=VALUE,...',
  pair: 'KEY=VALUE',
  boolMap: 'NAME=BOOL,...',
  lessMap: 'SIGNAL<VALUE,...',
  headers: 'NAME:VALUE,...',
  labels: 'KEY=VALUE,...',
  taints: 'KEY=VALUE:EFFECT,...',
  reservedMemory: 'NODE:TYPE=QUANTITY,...',
  vmodule: 'PATTERN=N,...',
  version: '',
};

function shownDefault(spec: FlagSpec, defaults: unknown): string {
  const value = spec.field === undefined ? spec.default : fieldAt(defaults, spec.field);
  if (value === undefined || value === '' || value === false || value === 'false') return '';
  return ` (default ${typeof value === 'object' ? JSON.stringify(value) : String(value)})`;
}

const WIDTH = 120;
const indent = ' '.repeat(8);

/** Breaks a text at blanks, so that lines are at most `width` long unless a word is longer. */
function wrapped(text: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length + word.length + 1 > WIDTH && line !== indent) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}

function flagHelp(spec: FlagSpec, defaults: unknown): string {
  const short = spec.shorthand === undefined ? '    ' : `-${spec.shorthand}, `;
  const value = valueNames[spec.type];
  const choice =
    spec.values === undefined || spec.values.length > 6
      ? ''
      : ` One of ${spec.values.map((word) => (word === '' ? '""' : word)).join(', ')}.`;
  const field = spec.field === undefined || spec.deprecated === undefined ? '' : ` Field: ${spec.field}.`;
  return `  ${short}--${spec.name}${value === '' ? '' : ` ${value}`}\n${wrapped(`${spec.help}${choice}${field}${shownDefault(spec, defaults)}`)}`;
}

export function helpText(): string {
  const defaults = applyLegacyDefaults(applyDefaults({}, computeFeatureGates({}).gates.enabled));
  const specs = [...agentFlags, ...configFlags];
  const groups = flagGroups.map((group) => {
    const rows = specs.filter((spec) => spec.group === group).sort((left, right) => (left.name < right.name ? -1 : 1));
    return `${group}:\n${rows.map((spec) => flagHelp(spec, defaults)).join('\n')}`;
  });
  const usage = commands.map(({ name, usage: rest, help }) => `  kubelet ${`${name} ${rest}`.padEnd(44)} ${help}`);
  return [
    'Runs the pods of this node: those of static manifests, of a URL, of the manifest server, and of an API server if --kubeconfig names one.',
    `Usage:\n  ${'kubelet [flags]'.padEnd(53)}Run the agent.\n${usage.join('\n')}\n\nkubelet COMMAND --help explains a command. Defaults are those without --config; a file changes some of them.`,
    ...groups,
  ]
    .join('\n\n')
    .concat('\n');
}

/** Returns the text of `kubelet COMMAND --help`. */
export function commandHelpText({ name, usage, help, flags }: CommandSpec): string {
  const rows = flags.map((flag) => {
    const short = flag.shorthand === undefined ? '    ' : `-${flag.shorthand}, `;
    const choice = flag.values === undefined ? '' : ` One of ${flag.values.join(', ')}.`;
    const value = flag.default === undefined ? '' : ` (default ${flag.default})`;
    return `  ${short}--${flag.name}${flag.value === undefined ? '' : ` ${flag.value}`}\n${wrapped(`${flag.help}${choice}${value}`)}`;
  });
  return `${help}\n\nUsage:\n  kubelet ${name} ${usage}\n${rows.length === 0 ? '' : `\nFlags:\n${rows.join('\n')}\n`}`;
}
