/**
 * Resolves plain YAML scalars. Kubernetes reads YAML 1.1 as Go's yaml.v2 does: `yes` and `on` are true, `0644` is
 * octal, `1_000` is a number. YAML 1.2 would silently change file modes, so the parser does not resolve scalars.
 */
const words: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word): [string, null] => [word, null]),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word): [string, boolean] => [
    word,
    true,
  ]),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word): [string, boolean] => [
    word,
    false,
  ]),
]);
const maybeNumber = /^[-+.0-9]/;
const decimalInt = /^[-+]?(?:0|[1-9][0-9]*)$/;
const octalInt = /^([-+]?)0o?([0-7]+)$/;
const hexInt = /^([-+]?)0[xX]([0-9a-fA-F]+)$/;
const binaryInt = /^([-+]?)0[bB]([01]+)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** Integers that a double cannot represent are returned as bigint. */
export type ScalarValue = string | number | bigint | boolean | null;

export function resolvePlainScalar(text: string): ScalarValue {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (text.length > 100 || !maybeNumber.test(text)) return text;
  return resolveNumber(text.replaceAll('_', '')) ?? text;
}

function resolveNumber(text: string): number | bigint | undefined {
  if (decimalInt.test(text)) return narrow(BigInt(text.startsWith('+') ? text.slice(1) : text));
  for (const [pattern, prefix] of [
    [octalInt, '0o'],
    [hexInt, '0x'],
    [binaryInt, '0b'],
  ] as const) {
    const match = pattern.exec(text);
    if (match !== null) return narrow(BigInt(`${prefix}${match[2] ?? '0'}`) * (match[1] === '-' ? -1n : 1n));
  }
  return float.test(text) ? Number(text) : undefined;
}

function narrow(value: bigint): number | bigint {
  const asNumber = Number(value);
  return Number.isSafeInteger(asNumber) ? asNumber : value;
}
