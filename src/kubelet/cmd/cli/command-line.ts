import { parseArgs } from 'node:util';
import { KubeletError, errorMessage } from '../../../base/errors.ts';
import type { CommandSpec } from '../flags/flags-commands.ts';

export interface CommandLine {
  /** The values of flags that take one. Flags that were not used are absent. */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** The used flags that take no value. */
  readonly given: ReadonlySet<string>;
  readonly positionals: readonly string[];
  /** The arguments after `--`. */
  readonly rest: readonly string[];
  readonly help: boolean;
}

/** Parses the arguments of a command by its row in the table. Throws `Invalid` with a hint how to correct them. */
export function parseCommandLine(spec: CommandSpec, args: readonly string[]): CommandLine {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
  };
  for (const flag of spec.flags) {
    options[flag.name] = { type: flag.value === undefined ? 'boolean' : 'string' };
    if (flag.shorthand !== undefined) options[flag.name] = { ...options[flag.name]!, short: flag.shorthand };
  }
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  const parsed = parse(spec, own, options);
  const values: Record<string, string | undefined> = {};
  const given = new Set<string>();
  for (const [name, value] of Object.entries(parsed.values)) {
    if (typeof value === 'string') values[name] = value;
    else if (value === true) given.add(name);
  }
  for (const flag of spec.flags) checkValue(spec, flag, values[flag.name]);
  const surplus = parsed.positionals[spec.most];
  if (surplus !== undefined && !given.has('help'))
    throw new KubeletError(
      'Invalid',
      `unexpected argument "${surplus}"; usage: kubelet ${spec.name} ${spec.usage}\nSee 'kubelet ${spec.name} --help'.`,
    );
  return {
    values,
    given,
    positionals: parsed.positionals,
    rest: end === -1 ? [] : args.slice(end + 1),
    help: given.has('help'),
  };
}

function parse(
  spec: CommandSpec,
  args: readonly string[],
  options: Record<string, { type: 'string' | 'boolean'; short?: string }>,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new KubeletError('Invalid', `${errorMessage(error)}\nSee 'kubelet ${spec.name} --help'.`);
  }
}

function checkValue(spec: CommandSpec, flag: CommandSpec['flags'][number], value: string | undefined): void {
  if (value === undefined || flag.values === undefined || flag.values.includes(value)) return;
  throw new KubeletError(
    'Invalid',
    `--${flag.name}: "${value}" is not accepted; it takes ${flag.values.join(' or ')}.\nSee 'kubelet ${spec.name} --help'.`,
  );
}
