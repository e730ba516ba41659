import { parseDurationMs } from '../../../api/duration.ts';
import { flagOf } from './control-plane-flags.ts';
import type { FlagName } from './control-plane-flags.ts';

/** Reads flag values by type and collects the errors. */
export class FlagReader {
  readonly errors: string[] = [];
  readonly #given: Readonly<Record<string, string | boolean | undefined>>;

  constructor(given: Readonly<Record<string, string | boolean | undefined>>) {
    this.#given = given;
  }

  text(name: FlagName): string | undefined {
    const value = this.#given[name] ?? flagOf(name).default;
    return value === undefined ? undefined : String(value);
  }

  required(name: FlagName): string {
    return this.text(name) ?? '';
  }

  list(name: FlagName): readonly string[] {
    return (this.text(name) ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  }

  isGiven(name: FlagName): boolean {
    return this.#given[name] !== undefined;
  }

  boolean(name: FlagName): boolean {
    const value = this.text(name) ?? 'false';
    if (value !== 'true' && value !== 'false')
      this.errors.push(`--${name}: ${JSON.stringify(value)} is neither true nor false`);
    return value === 'true';
  }

  number(name: FlagName, least = 0, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.required(name);
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (!(number >= least && number <= most))
      this.errors.push(
        `--${name}: ${JSON.stringify(value)} is not a whole number of at least ${least}${most === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${most}`}`,
      );
    return number;
  }

  fraction(name: FlagName): number {
    const value = this.required(name);
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
    if (!Number.isFinite(number)) this.errors.push(`--${name}: ${JSON.stringify(value)} is not a number such as 0.1`);
    return number;
  }

  /** Milliseconds, greater than zero. */
  duration(name: FlagName): number {
    const value = this.required(name);
    const ms = parseDurationMs(value);
    if (ms === undefined || ms <= 0)
      this.errors.push(`--${name}: ${JSON.stringify(value)} is not a duration such as 50s or 1m30s`);
    return ms ?? 0;
  }

  oneOf<const Values extends readonly string[]>(name: FlagName, values: Values): Values[number] {
    const value = this.required(name);
    const found = values.find((each) => each === value);
    if (found === undefined) this.errors.push(`--${name}: ${JSON.stringify(value)} is not one of ${values.join(', ')}`);
    return found ?? (values[0] as Values[number]);
  }
}
