import { formatDecodeError } from '../../../api/schema/decode.ts';
import type { Decoded, DecodeOptions } from '../../../api/schema/decode.ts';

/** How answers of other servers are decoded: newer fields are left out, and the work has an end. */
export const reading: DecodeOptions = { mode: 'lenient', maxValues: 300_000 };

/** What was decoded; throws for an answer that is something else. */
export function readAnswer<T>(name: string, { value, errors }: Decoded<T>): T {
  const [error] = errors;
  if (error !== undefined) throw new Error(`the answer is no ${name}: ${formatDecodeError(error)}`);
  return value;
}
