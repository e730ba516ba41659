import { formatDecodeError } from '../../../api/schema/decode.ts';
import type { DecodeError } from '../../../api/schema/decode.ts';
import type { PathStep } from '../../../api/schema/field-path.ts';
import { array, object, string } from '../../../api/schema/schema.ts';
import type { Schema } from '../../../api/schema/schema.ts';
import { scanJson } from '../../../api/scan-json.ts';
import { compareTexts } from '../../patch/managed-entries.ts';
import { unknownOperationFields } from '../../patch/json-patch.ts';
import type { PatchBody, WriteBody } from '../registry.ts';

/** The unknown and duplicate fields of a body. */
export interface FieldDoubts {
  /** The error of strict validation: `strict decoding error: unknown field "spec.x"`. */
  readonly refusal: string;
  /** The warnings, one for each field. */
  readonly warnings: readonly string[];
}

/** Compares the paths of fields as a text with sorted keys orders them. */
function comparePaths({ path: left }: DecodeError, { path: right }: DecodeError): number {
  const at = left.findIndex((step, index) => textOf(step) !== textOf(right[index]));
  if (at < 0) return left.length - right.length;
  const [one, other] = [left[at], right[at]];
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return compareTexts(textOf(one), textOf(other));
}

const textOf = (step: PathStep | undefined): string =>
  step === undefined ? '' : typeof step === 'object' ? step.key : String(step);

/**
 * Collects the unknown and duplicate fields of a whole object, or undefined if there are none. Without a schema, the
 * order of the text is unknown. For JSON, the order is that of the text. For YAML, duplicate keys come first, then
 * unknown fields, sorted (upstream: serializer/json unmarshal).
 */
export function computeBodyDoubts(
  body: WriteBody,
  schema: Schema | undefined,
  unknown: readonly DecodeError[],
): FieldDoubts | undefined {
  if (body.duplicates.length === 0 && unknown.length === 0) return undefined;
  if (body.form === 'yaml') return yamlDoubts(body.duplicates, unknown.toSorted(comparePaths).map(formatDecodeError));
  return plainDoubts(
    body.text === undefined || schema === undefined
      ? [...body.duplicates, ...unknown.map(formatDecodeError)]
      : scanJson(body.text, schema).problems,
  );
}

/**
 * Collects the unknown and duplicate fields of a patch and its result: first duplicate fields, then unknown fields,
 * sorted.
 */
export function computePatchDoubts(patch: PatchBody, unknown: readonly DecodeError[]): FieldDoubts | undefined {
  const own = patch.type === 'json' ? operationDoubts(patch) : patch.duplicates;
  if (own.length === 0 && unknown.length === 0) return undefined;
  const sorted =
    patch.type === 'strategic'
      ? unknown.map(formatDecodeError).sort(compareTexts)
      : unknown.toSorted(comparePaths).map(formatDecodeError);
  return plainDoubts([...own, ...sorted]);
}

/**
 * Collects the duplicate fields of an apply configuration. Its unknown fields are errors earlier (upstream:
 * handlers/patch.go).
 */
export function computeApplyDoubts({ duplicates }: WriteBody): FieldDoubts | undefined {
  if (duplicates.length === 0) return undefined;
  return {
    refusal: `error strict decoding YAML: error converting YAML to JSON: ${yamlErrors(duplicates)}`,
    warnings: duplicates,
  };
}

const plain = { kind: 'opaque', plain: true } as const;
const operations = array(object('JSONPatchOperation', { op: string, path: string, from: string, value: plain }));

function operationDoubts({ value, text }: PatchBody): readonly string[] {
  if (text === undefined) return unknownOperationFields(value);
  return scanJson(text, operations).problems.map((problem) => `json patch ${problem}`);
}

const plainDoubts = (doubts: readonly string[]): FieldDoubts => ({
  refusal: `strict decoding error: ${doubts.join(', ')}`,
  warnings: doubts,
});

const yamlDoubts = (lines: readonly string[], unknown: readonly string[]): FieldDoubts => ({
  refusal: `strict decoding error: ${[...(lines.length > 0 ? [yamlErrors(lines)] : []), ...unknown].join(', ')}`,
  warnings: [...lines, ...unknown],
});

const yamlErrors = (lines: readonly string[]): string => `yaml: unmarshal errors:\n  ${lines.join('\n  ')}`;
