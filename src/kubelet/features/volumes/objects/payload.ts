import { Buffer } from 'node:buffer';
import path from 'node:path/posix';
import type { ConfigMap } from '../../../../api/core/config-map.ts';
import type { Secret } from '../../../../api/core/secret.ts';
import type { KeyToPath } from '../../../../api/core/volume-source.ts';
import { KubeletError } from '../../../../base/errors.ts';

/** The content of a volume: relative path to content and mode. */
export type Payload = ReadonlyMap<string, PayloadFile>;

export interface PayloadFile {
  readonly content: Uint8Array;
  readonly mode: number;
  /** The owner of the file; by default root. */
  readonly uid?: number;
}

export interface KeySelection {
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  readonly optional: boolean;
}

const LONGEST_NAME = 255;
const LONGEST_PATH = 4096;

/** Selects the content. Throws Invalid when a key that `items` names is missing and the source is not optional. */
export function configMapPayload(selection: KeySelection, configMap: ConfigMap | undefined): Payload {
  const values = new Map<string, () => Uint8Array>();
  for (const [key, value] of Object.entries(configMap?.binaryData ?? {}))
    values.set(key, () => Buffer.from(value, 'base64'));
  for (const [key, value] of Object.entries(configMap?.data ?? {})) values.set(key, () => Buffer.from(value, 'utf8'));
  return select(selection, values, (key) => `configmap references non-existent config key: ${key}`);
}

export function secretPayload(selection: KeySelection, secret: Secret | undefined): Payload {
  const values = new Map(
    Object.entries(secret?.data ?? {}).map(([key, value]) => [key, () => Buffer.from(value, 'base64')]),
  );
  return select(selection, values, (key) => `references non-existent secret key: ${key}`);
}

function select(
  selection: KeySelection,
  values: ReadonlyMap<string, () => Uint8Array>,
  missing: (key: string) => string,
): Payload {
  const payload = new Map<string, PayloadFile>();
  if (selection.items === undefined || selection.items.length === 0) {
    for (const [key, value] of values) payload.set(key, { content: value(), mode: selection.defaultMode });
    return payload;
  }
  for (const item of selection.items) {
    const value = values.get(item.key);
    if (value !== undefined) payload.set(item.path, { content: value(), mode: item.mode ?? selection.defaultMode });
    else if (!selection.optional) throw new KubeletError('Invalid', missing(item.key));
  }
  return payload;
}

/**
 * Checks that normalized paths stay inside the volume. Names that begin with `..` belong to the writer. Throws Invalid.
 */
export function validatedPayload(payload: Payload): Payload {
  const clean = new Map<string, PayloadFile>();
  for (const [name, file] of payload) {
    const problem = problemOfPath(name);
    if (problem !== undefined) throw new KubeletError('Invalid', `invalid path: ${problem}`);
    clean.set(path.normalize(name), file);
  }
  return clean;
}

function problemOfPath(name: string): string | undefined {
  if (name === '') return 'must not be empty: ""';
  if (name.startsWith('/')) return `must be relative path: ${name}`;
  if (name.length > LONGEST_PATH) return `must be less than or equal to ${LONGEST_PATH} characters`;
  if (name.includes('\0')) return 'must not contain a null byte';
  const parts = name.split('/');
  if (parts.includes('..')) return `must not contain '..': ${name}`;
  if (parts.some((part) => Buffer.byteLength(part) > LONGEST_NAME))
    return `filenames must be less than or equal to ${LONGEST_NAME} characters`;
  const first = path.normalize(name).split('/')[0] ?? '';
  if (first.startsWith('..')) return `must not start with '..': ${name}`;
  if (first === '.') return `must name a file: ${name}`;
  return undefined;
}
