import type { PatternBudget } from '../../base/pattern-budget.ts';
import { fieldOf, invalid } from './finding.ts';
import type { Finding } from './finding.ts';
import type { SchemaNode } from './schema-node.ts';

/** The name of a JSON value's type in schemas. Numbers without a fraction are integers. */
export function jsonTypeOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  // Integers beyond int64 were read as doubles, which have lost digits.
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return 'integer';
  return typeof value;
}

/** The length in characters as Go counts it: a surrogate pair is one. */
function countCharacters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0xdc00 || code > 0xdfff) count++;
  }
  return count;
}

/** Reports only the first problem, as upstream does. */
export function checkString(
  value: string,
  { json, pattern }: SchemaNode,
  path: string,
  budget: PatternBudget,
): readonly Finding[] | 'no-time' {
  const { minLength, maxLength } = json;
  const length = minLength === undefined && maxLength === undefined ? 0 : countCharacters(value);
  if (maxLength !== undefined && length > maxLength) return [(errors) => errors.tooLong(fieldOf(path), maxLength)];
  if (minLength !== undefined && length < minLength)
    return [invalid(path, value, `should be at least ${minLength} chars long`)];
  if (pattern === undefined) return [];
  const matches = budget.test(pattern, value);
  if (matches === undefined) return 'no-time';
  return matches ? [] : [invalid(path, value, `should match '${json.pattern ?? ''}'`)];
}

const INT32_MAX = 2_147_483_647;

export function checkNumber(value: number | bigint, { json, types }: SchemaNode, path: string): readonly Finding[] {
  const { multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum, format } = json;
  const findings: Finding[] = [];
  if (multipleOf !== undefined && !isMultiple(value, multipleOf))
    findings.push(invalid(path, value, `should be a multiple of ${String(multipleOf)}`));
  if (maximum !== undefined && (exclusiveMaximum === true ? value >= maximum : value > maximum))
    findings.push(
      invalid(path, value, `should be less than ${exclusiveMaximum === true ? '' : 'or equal to '}${String(maximum)}`),
    );
  if (minimum !== undefined && (exclusiveMinimum === true ? value <= minimum : value < minimum))
    findings.push(
      invalid(
        path,
        value,
        `should be greater than ${exclusiveMinimum === true ? '' : 'or equal to '}${String(minimum)}`,
      ),
    );
  const isWhole = typeof value === 'bigint' || Number.isInteger(value);
  const isWide = format === 'int32' && (value > INT32_MAX || value < -INT32_MAX - 1);
  if (types.length === 1 && types[0] === 'integer' && (!isWhole || isWide))
    findings.push((errors) =>
      errors.invalid('<nil>', '', `Checked value must be of type ${integerIn(format)} in ${fieldOf(path)}`),
    );
  return findings;
}

const integerIn = (format: string | undefined): string =>
  format === 'int32' || format === 'int64' ? `integer with format ${format}` : 'integer (default format)';

/** Decimal fractions can be multiples of each other even if their nearest doubles are not. */
function isMultiple(value: number | bigint, factor: number | bigint): boolean {
  if (typeof value === 'bigint' || typeof factor === 'bigint') {
    if (!Number.isInteger(Number(value)) || !Number.isInteger(Number(factor))) return false;
    return BigInt(factor) !== 0n && BigInt(value) % BigInt(factor) === 0n;
  }
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  const ratio = value / factor;
  return Number.isInteger(ratio) || Math.abs(ratio - Math.round(ratio)) < 1e-9 * Math.max(1, Math.abs(ratio));
}
