/** The commands other than the agent, as data. Help and completion are generated from this table. */
import { DEFAULT_CLI_SOCKET } from './flags-agent.ts';

export interface CommandFlag {
  readonly name: string;
  readonly shorthand?: string;
  /** The placeholder of the value in the help text; absent if the flag takes no value. */
  readonly value?: string;
  readonly values?: readonly string[];
  readonly default?: string;
  readonly help: string;
}

export interface CommandSpec {
  readonly name: CommandName;
  /** The usage after the name, as the help shows it. */
  readonly usage: string;
  readonly help: string;
  readonly flags: readonly CommandFlag[];
  /** The maximum number of positional arguments. */
  readonly most: number;
  /** The kind of the positional arguments, for completion. */
  readonly completes?: 'pod' | 'file' | 'shell';
}

const commandNames = [
  'pods',
  'explain',
  'events',
  'logs',
  'exec',
  'plan',
  'evict',
  'images',
  'completion',
  'version',
] as const;
export type CommandName = (typeof commandNames)[number];

const socket: CommandFlag = {
  name: 'socket',
  value: 'PATH',
  default: DEFAULT_CLI_SOCKET,
  help: 'Socket of the running agent; also $KUBELET_SOCKET.',
};
const rootDir: CommandFlag = {
  name: 'root-dir',
  value: 'DIR',
  help: 'Root directory of the running agent, whose kubelet.sock is used.',
};
const output: CommandFlag = {
  name: 'output',
  shorthand: 'o',
  value: 'FORMAT',
  values: ['text', 'json'],
  default: 'text',
  help: 'text for people, json for programs.',
};
const container: CommandFlag = {
  name: 'container',
  shorthand: 'c',
  value: 'NAME',
  help: 'Container of the pod; needed if it has more than one.',
};
const namespace: CommandFlag = {
  name: 'namespace',
  shorthand: 'n',
  value: 'NAME',
  help: 'Namespace of the pod; needed if the name alone fits several pods.',
};

export const commands: readonly CommandSpec[] = [
  {
    name: 'pods',
    most: 0,
    usage: '[flags]',
    help: 'List the pods of the running agent.',
    flags: [
      namespace,
      {
        ...output,
        values: ['text', 'json', 'name'],
        help: 'text for people, json for programs, name for one pod name per line.',
      },
      socket,
      rootDir,
    ],
  },
  {
    name: 'explain',
    most: 1,
    usage: '[POD] [flags]',
    help: 'Explain why pods are not settled: step, cause, since when, last error, next try.',
    flags: [namespace, output, socket, rootDir],
    completes: 'pod',
  },
  {
    name: 'events',
    most: 1,
    usage: '[POD] [flags]',
    help: 'List the events of the last hour, of one pod or of all and the node.',
    flags: [namespace, output, socket, rootDir],
    completes: 'pod',
  },
  {
    name: 'logs',
    most: 2,
    usage: 'POD [flags]',
    help: 'Print the log of a container.',
    completes: 'pod',
    flags: [
      container,
      namespace,
      { name: 'follow', shorthand: 'f', help: 'Go on with what is written from now on.' },
      { name: 'previous', shorthand: 'p', help: 'The log of the instance before the running one.' },
      { name: 'tail', value: 'LINES', default: '-1', help: 'Only so many lines from the end; -1 means all.' },
      { name: 'since', value: 'DURATION', help: 'Only lines newer than this, such as 10m.' },
      { name: 'timestamps', help: 'Print the time before each line.' },
      socket,
      rootDir,
    ],
  },
  {
    name: 'exec',
    most: 1,
    usage: 'POD [flags] -- COMMAND [ARG...]',
    help: 'Run a command in a container.',
    completes: 'pod',
    flags: [
      container,
      namespace,
      { name: 'stdin', shorthand: 'i', help: 'Pass standard input on.' },
      { name: 'tty', shorthand: 't', help: 'With a terminal.' },
      socket,
      rootDir,
    ],
  },
  {
    name: 'plan',
    most: 1,
    usage: 'FILE [flags]',
    help: 'Print the steps the agent would take for a manifest, and do nothing.',
    flags: [output, socket, rootDir],
    completes: 'file',
  },
  {
    name: 'evict',
    most: 0,
    usage: '--dry-run [flags]',
    help: 'Print what the node would evict now: signals, thresholds, ranking. Evicts nothing.',
    flags: [
      { name: 'dry-run', help: 'Required: the agent evicts by its thresholds only, never by command.' },
      output,
      socket,
      rootDir,
    ],
  },
  {
    name: 'images',
    most: 0,
    usage: '--gc --dry-run [flags]',
    help: 'Print which images would be removed now, and why others stay.',
    flags: [
      { name: 'gc', help: 'Required: what garbage collection would do.' },
      { name: 'dry-run', help: 'Required: the agent removes images by its thresholds only, never by command.' },
      output,
      socket,
      rootDir,
    ],
  },
  {
    name: 'completion',
    most: 1,
    usage: 'bash|zsh|fish',
    help: 'Print the completion script of a shell.',
    flags: [],
    completes: 'shell',
  },
  {
    name: 'version',
    most: 0,
    usage: '[flags]',
    help: 'Print the Kubernetes version that the agent implements, and its own version.',
    flags: [output],
  },
];

export const isCommandName = (text: string): text is CommandName => (commandNames as readonly string[]).includes(text);
