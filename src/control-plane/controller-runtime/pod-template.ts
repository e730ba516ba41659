import type { PodTemplateSpec } from '../../api/core/pod-template.ts';
import { SAFE_ALPHABET } from '../../api/generate-name.ts';
import { semanticEqual } from '../../api/semantic-equal.ts';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * The hash of a template, at most ten characters, independent of key order and of empty or absent fields. Upstream
 * hashes a dump of Go structs, which other programs cannot reproduce, and encodes it with the same letters
 * (SafeEncodeString). Nothing depends on the value, only on its stability. `collisions` changes the hash.
 */
export function hashTemplate(template: object, collisions: number | undefined): string {
  let hash = FNV_OFFSET;
  const text = canonical(template) + (collisions === undefined ? '' : `/${collisions}`);
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME) >>> 0;
  return [...String(hash)].map((digit) => SAFE_ALPHABET[digit.charCodeAt(0) % SAFE_ALPHABET.length]).join('');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const entries = Object.entries(value).filter(([, each]) => !isEmpty(each));
  entries.sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

export function withLabel(
  labels: Readonly<Record<string, string>> | undefined,
  key: string,
  value: string,
): Record<string, string> {
  return { ...labels, [key]: value };
}

function withoutLabel(labels: Readonly<Record<string, string>> | undefined, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(labels ?? {}).filter(([each]) => each !== key));
}

/** Whether two templates are equal except for the label `key`, which the controller itself sets. */
export function sameTemplate(left: PodTemplateSpec, right: PodTemplateSpec, key: string): boolean {
  const plain = ({ metadata, spec }: PodTemplateSpec): object => ({
    metadata: { ...metadata, labels: withoutLabel(metadata.labels, key) },
    spec,
  });
  return semanticEqual(plain(left), plain(right));
}
