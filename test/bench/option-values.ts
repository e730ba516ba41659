// Values of flags that the parts of the bench share. Pure.

import { KubeletError } from '../../src/base/errors.ts';

/**
 * The name among `names` that equals `text`. `what` is the word for a name in error messages, such as `row`. Throws
 * `Invalid`.
 */
export function readName<T extends string>(text: string, names: readonly T[], what: string): T {
  const name = names.find((known) => known === text);
  if (name === undefined)
    throw new KubeletError('Invalid', `--only: there is no ${what} "${text}", there are: ${names.join(', ')}`);
  return name;
}

/** The value of --samples. Throws `Invalid`. */
export function readSamples(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 1000)
    throw new KubeletError('Invalid', `--samples: "${text}" is not a whole number from 1 to 1000`);
  return value;
}
