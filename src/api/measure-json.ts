/** Counts the parts of a JSON text before it is parsed. Also returns a result for text that is not JSON. */
export interface JsonMeasure {
  /** The number of values: objects, arrays, and their content. */
  readonly values: number;
  /** The number of keys in all objects; duplicates count twice. */
  readonly keys: number;
  readonly depth: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Reads the bytes once, and strings only to find their end. Stops after `mostValues`. */
export function measureJson(bytes: Uint8Array, mostValues: number): JsonMeasure {
  let [values, keys, open, depth] = [1, 0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case COMMA:
        if (++values > mostValues) return { values, keys, depth };
        break;
      case COLON:
        keys++;
        break;
      case 0x5b:
      case 0x7b:
        depth = Math.max(depth, ++open);
        if (!isClosedAtOnce(bytes, at) && ++values > mostValues) return { values, keys, depth };
        break;
      case 0x5d:
      case 0x7d:
        open--;
        break;
      default:
    }
  }
  return { values, keys, depth };
}

/** `[]` and `{}` are empty. With spaces inside, they count as if they had one value. */
function isClosedAtOnce(bytes: Uint8Array, at: number): boolean {
  const next = bytes[at + 1];
  return next === 0x5d || next === 0x7d;
}

function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const sign = bytes[at];
    if (sign === QUOTE) return at;
    if (sign === BACKSLASH) at++;
  }
  return bytes.length;
}
