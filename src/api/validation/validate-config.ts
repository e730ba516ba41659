import { lookupTable } from '../../base/lookup.ts';
import { Buffer } from 'node:buffer';
import type { ConfigMap } from '../core/config-map.ts';
import type { Secret } from '../core/secret.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { validateObjectMeta } from './metadata.ts';
import { byteLength, checkConfigKey } from './names.ts';

const MAX_BYTES = 1024 * 1024;

/** Validates a new config map (upstream: ValidateConfigMap). */
export function validateConfigMap(configMap: ConfigMap): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', configMap.metadata);
  const { data = {}, binaryData = {} } = configMap;
  let total = 0;
  for (const [key, value] of Object.entries(data)) {
    errors.invalidEach(`data[${key}]`, key, checkConfigKey(key));
    if (Object.hasOwn(binaryData, key)) errors.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
    total += byteLength(value);
  }
  for (const [key, value] of Object.entries(binaryData)) {
    errors.invalidEach(`binaryData[${key}]`, key, checkConfigKey(key));
    total += base64Bytes(value);
  }
  // Upstream reports the size of the whole at an empty path, which it prints so.
  if (total > MAX_BYTES) errors.tooLong('[]', MAX_BYTES);
  return errors.list;
}

/** Validates a new secret (upstream: ValidateSecret). */
export function validateSecret(secret: Secret): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', secret.metadata);
  const { data = {} } = secret;
  let total = 0;
  for (const [key, value] of Object.entries(data)) {
    errors.invalidEach(`data[${key}]`, key, checkConfigKey(key));
    total += base64Bytes(value);
  }
  if (total > MAX_BYTES) errors.tooLong('data', MAX_BYTES);
  validateTyped(errors, secret, data);
  return errors.list;
}

/** The required keys of each well-known type. */
const requiredKeys: Readonly<Record<string, readonly string[]>> = lookupTable({
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
});

function validateTyped(errors: FieldErrors, secret: Secret, data: Readonly<Record<string, string>>): void {
  const account = 'kubernetes.io/service-account.name';
  if (secret.type === 'kubernetes.io/service-account-token' && !secret.metadata.annotations?.[account])
    errors.required(`metadata.annotations[${account}]`);
  if (secret.type === 'kubernetes.io/basic-auth' && data['username'] === undefined && data['password'] === undefined) {
    errors.required('data[username]');
    errors.required('data[password]');
  }
  if (secret.type === 'kubernetes.io/ssh-auth' && !data['ssh-privatekey']) errors.required('data[ssh-privatekey]');
  for (const key of requiredKeys[secret.type ?? ''] ?? []) {
    const value = data[key];
    if (value === undefined) errors.required(`data[${key}]`);
    else if (key.startsWith('.docker')) validateJson(errors, `data[${key}]`, value);
  }
}

function validateJson(errors: FieldErrors, field: string, base64: string): void {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  const problem = jsonProblem(text);
  if (problem !== undefined) errors.invalid(field, '<secret contents redacted>', problem);
}

/** The message of the JSON parser would quote the secret. */
function jsonProblem(text: string): string | undefined {
  if (text === '') return 'unexpected end of JSON input';
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? undefined : 'must be a JSON object';
  } catch {
    return 'must be a JSON object';
  }
}

function base64Bytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}
