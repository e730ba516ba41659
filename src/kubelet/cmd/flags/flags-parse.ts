/**
 * Parses the command line as pflag does: `--a=b`, `--a b`, bare booleans, `_` for `-`, shorthands with an attached
 * value, `--` as the end of flags, and positionals between flags. Option libraries do not support the first four
 * together; see docs/adr/flag-parsing.md.
 */
import { ownValue } from '../../../base/lookup.ts';
import { closestName } from '../../../api/schema/closest-name.ts';
import { removedFlags } from './removed-flags.ts';
import type { FlagSpec } from './flags-types.ts';
import { combineFlagValues, readFlagValue } from './flags-values.ts';

export interface ParsedFlags {
  /** The values by flag name; only flags that were used. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly positionals: readonly string[];
  /** All errors of the command line, in its order. */
  readonly errors: readonly string[];
  /** The used deprecated flags, each once, with upstream's message. */
  readonly warnings: readonly string[];
}

const normalise = (name: string): string => name.replaceAll('_', '-');
const withoutValue = (spec: FlagSpec): boolean => spec.type === 'bool' || spec.type === 'version';

class Parser {
  readonly values = new Map<string, unknown>();
  readonly positionals: string[] = [];
  readonly errors: string[] = [];
  readonly warnings: string[] = [];
  readonly #byName: ReadonlyMap<string, FlagSpec>;
  readonly #byShorthand: ReadonlyMap<string, FlagSpec>;
  readonly #rest: string[];

  constructor(argv: readonly string[], specs: readonly FlagSpec[]) {
    this.#rest = [...argv];
    this.#byName = new Map(specs.map((spec) => [spec.name, spec]));
    this.#byShorthand = new Map(
      specs.flatMap((spec) => (spec.shorthand === undefined ? [] : [[spec.shorthand, spec] as const])),
    );
  }

  run(): void {
    for (let arg = this.#rest.shift(); arg !== undefined; arg = this.#rest.shift()) {
      if (arg === '--') {
        this.positionals.push(...this.#rest);
        return;
      }
      if (arg.startsWith('--')) this.#long(arg);
      else if (arg.startsWith('-') && arg.length > 1) this.#short(arg.slice(1), arg);
      else this.positionals.push(arg);
    }
  }

  #long(arg: string): void {
    const at = arg.indexOf('=');
    const name = normalise(arg.slice(2, at < 0 ? undefined : at));
    if (name === '' || name.startsWith('-')) {
      this.errors.push(`bad flag syntax: ${arg}`);
      return;
    }
    const spec = this.#byName.get(name);
    if (spec === undefined) this.#unknown(name, at < 0);
    else if (at >= 0) this.#set(spec, arg.slice(at + 1));
    else if (withoutValue(spec)) this.#set(spec, 'true');
    else this.#setFromNext(spec, `--${name}`);
  }

  #short(letters: string, arg: string): void {
    const letter = letters.slice(0, 1);
    const after = letters.slice(1);
    const spec = this.#byShorthand.get(letter);
    if (spec === undefined) {
      const long = closestName(letters.split('=')[0] ?? '', [...this.#byName.keys()]);
      this.errors.push(
        `unknown shorthand flag: '${letter}' in ${arg}${long === undefined || letters.length < 3 ? '' : ` (did you mean --${long}?)`}`,
      );
    } else if (after.startsWith('=')) this.#set(spec, after.slice(1));
    else if (withoutValue(spec)) {
      this.#set(spec, 'true');
      if (after !== '') this.#short(after, arg);
    } else if (after !== '') this.#set(spec, after);
    else this.#setFromNext(spec, `'${letter}' in ${arg}`);
  }

  #unknown(name: string, mayTakeNext: boolean): void {
    const instead = ownValue(removedFlags, normalise(name));
    const near = closestName(name, [...this.#byName.keys()]);
    const hint = near === undefined ? 'kubelet --help lists the accepted ones' : `did you mean --${near}?`;
    this.errors.push(
      instead === undefined
        ? `unknown flag: --${name} (${hint})`
        : `--${name} was removed from the kubelet: ${instead}`,
    );
    // The value of an unknown flag must not be parsed as a command, because one mistake should give one error.
    if (mayTakeNext && this.#rest[0] !== undefined && !this.#rest[0].startsWith('-')) this.#rest.shift();
  }

  #setFromNext(spec: FlagSpec, shown: string): void {
    const next = this.#rest.shift();
    if (next === undefined) this.errors.push(`flag needs an argument: ${shown}`);
    else this.#set(spec, next);
  }

  #set(spec: FlagSpec, text: string): void {
    if (spec.deprecated !== undefined && !this.values.has(spec.name)) this.#deprecated(spec);
    const read = readFlagValue(spec.type, text);
    if ('wrong' in read) {
      const shown = spec.shorthand === undefined ? `--${spec.name}` : `-${spec.shorthand}, --${spec.name}`;
      this.errors.push(`invalid argument ${JSON.stringify(text)} for ${JSON.stringify(shown)} flag: ${read.wrong}`);
      return;
    }
    this.values.set(spec.name, combineFlagValues(spec.type, this.values.get(spec.name), read.value));
  }

  #deprecated(spec: FlagSpec): void {
    const instead = spec.field === undefined ? '' : ` The field is ${spec.field}.`;
    this.warnings.push(`Flag --${spec.name} has been deprecated, ${spec.deprecated ?? ''}${instead}`);
  }
}

export function parseFlags(argv: readonly string[], specs: readonly FlagSpec[]): ParsedFlags {
  const parser = new Parser(argv, specs);
  parser.run();
  return parser;
}
