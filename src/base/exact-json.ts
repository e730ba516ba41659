/** What JSON has besides the declarations of the compiler (proposal-json-parse-with-source). */
interface SourceJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}
const json = JSON as unknown as SourceJson;

/** Sixteen digits or more: only such numbers can be beyond 2^53. */
const longDigits = /\d{16}/;
const wholeNumber = /^-?\d{16,19}$/;
const LARGEST = 2n ** 63n - 1n;

/**
 * Has JSON show bigints as numbers with all their digits. It is set for the whole process: any text that is made of an
 * object of the API may hold one, and JSON.stringify throws for what it cannot show.
 */
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint): unknown {
    return json.rawJSON(String(this));
  },
});

/**
 * As JSON.parse, but whole numbers that a number cannot hold exactly are bigints, as far as they fit into an int64.
 * Others are the nearest double, as everywhere in JSON. Throws SyntaxError. Costs a multiple of JSON.parse for texts
 * with long digits, nothing for others. Nesting is limited by the stack.
 */
export function parseExactJson(text: string): unknown {
  if (!longDigits.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value: unknown, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
    return wholeNumber.test(source) ? (exactly(BigInt(source)) ?? value) : value;
  });
}

/** A number where it loses nothing, else the bigint; undefined beyond an int64. */
export function exactly(value: bigint): number | bigint | undefined {
  if (value > LARGEST || value < -LARGEST - 1n) return undefined;
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}
