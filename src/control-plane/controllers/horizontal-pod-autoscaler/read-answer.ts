import { formatDecodeError } from '../../../api/schema/decode.ts';
import type { Decoded, DecodeOptions } from '../../../api/schema/decode.ts';

/**
 * The options for decoding responses of other servers: unknown fields are ignored, and the number of values is limited.
 */
export const reading: DecodeOptions = { mode: 'lenient', maxValues: 300_000 };

/** Returns the decoded response. Throws if it is invalid. */
export function readAnswer<T>(name: string, { value, errors }: Decoded<T>): T {
  const [error] = errors;
  if (error !== undefined) throw new Error(`the answer is no ${name}: ${formatDecodeError(error)}`);
  return value;
}
