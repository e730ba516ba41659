/** The type of JSON with features that the compiler does not declare (proposal-json-parse-with-source). */
interface SourceJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}
const json = JSON as unknown as SourceJson;

/**
 * A whole number of sixteen digits or more: only such ones can be beyond 2^53. May also match inside a string, but not a
 * string of digits only, such as an id.
 */
const longDigits = /(?:^|[\s:,[])-?\d{16,19}(?:[\s,}\]]|$)/;
/** Engines find this much faster than `longDigits`, and few texts have it. */
const sixteenDigits = /\d{16}/;
const wholeNumber = /^-?\d{16,19}$/;
const LARGEST = 2n ** 63n - 1n;

/**
 * Makes JSON.stringify write bigints as numbers with all their digits. It is set for the whole process, because any API
 * object may contain one, and JSON.stringify would throw.
 */
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint): unknown {
    return json.rawJSON(String(this));
  },
});

/**
 * Parses JSON like JSON.parse, but integers that a double cannot represent become bigints if they fit into an int64;
 * others become the nearest double, as usual in JSON. Throws SyntaxError. It is several times slower than JSON.parse
 * for texts with long numbers, and equally fast for others. Nesting is limited by the stack.
 */
export function parseExactJson(text: string): unknown {
  if (!sixteenDigits.test(text) || !longDigits.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value: unknown, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
    return wholeNumber.test(source) ? (exactly(BigInt(source)) ?? value) : value;
  });
}

/** A number if it is exact, otherwise a bigint; undefined beyond an int64. */
export function exactly(value: bigint): number | bigint | undefined {
  if (value > LARGEST || value < -LARGEST - 1n) return undefined;
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}
