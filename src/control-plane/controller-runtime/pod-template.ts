import type { PodTemplateSpec } from '../../api/core/pod-template.ts';

/** Letters and digits in which no words can be read (upstream: util/rand SafeEncodeString). */
const safeAlphabet = 'bcdfghjklmnpqrstvwxz2456789';
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Names a template in ten characters or fewer: stable over key order and over what is empty or absent. Upstream hashes a dump of Go's memory, which
 * nobody else can reproduce; nothing depends on the value, only on its being the same for the same template. `collisions` gives another one.
 */
export function hashTemplate(template: object, collisions: number | undefined): string {
  let hash = FNV_OFFSET;
  const text = canonical(template) + (collisions === undefined ? '' : `/${collisions}`);
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME) >>> 0;
  return [...String(hash)].map((digit) => safeAlphabet[digit.charCodeAt(0) % safeAlphabet.length]).join('');
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

/** As the API means it: order of keys is nothing, and an empty list or map is as good as none (upstream: equality.Semantic). */
export function sameMeaning(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (isNothing(left) && isNothing(right)) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    return Array.isArray(left) && Array.isArray(right) && left.length === right.length && left.every((each, index) => sameMeaning(each, (right as readonly unknown[])[index]));
  }
  const other = right as Record<string, unknown>;
  for (const [key, each] of Object.entries(left)) if (!sameMeaning(each, other[key])) return false;
  return Object.entries(other).every(([key, each]) => Object.hasOwn(left, key) || isEmpty(each) || isNothing(each));
}

function isNothing(value: unknown): boolean {
  if (isEmpty(value)) return true;
  return typeof value === 'object' && Object.keys(value as object).length === 0;
}

export function withLabel(labels: Readonly<Record<string, string>> | undefined, key: string, value: string): Record<string, string> {
  return { ...labels, [key]: value };
}

export function withoutLabel(labels: Readonly<Record<string, string>> | undefined, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(labels ?? {}).filter(([each]) => each !== key));
}

/** Whether two templates mean the same pods, but for the label that `key` names: it is the controller's own mark. */
export function sameTemplate(left: PodTemplateSpec, right: PodTemplateSpec, key: string): boolean {
  const plain = ({ metadata, spec }: PodTemplateSpec): object => ({ metadata: { ...metadata, labels: withoutLabel(metadata.labels, key) }, spec });
  return sameMeaning(plain(left), plain(right));
}
