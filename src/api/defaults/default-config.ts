import { Buffer } from 'node:buffer';
import { copyJson } from '../../base/copy-json.ts';
import type { ConfigMap } from '../core/config-map.ts';
import type { Secret } from '../core/secret.ts';

/** A copy with the defaults that the API server sets. */
export function defaultConfigMap(configMap: ConfigMap): ConfigMap {
  return { ...copyJson(configMap), data: { ...configMap.data } };
}

/**
 * A copy with the defaults that the API server sets: a type, and the entries of `stringData` in `data`, where they
 * replace others.
 */
export function defaultSecret(secret: Secret): Secret {
  const { stringData, ...rest } = copyJson(secret);
  const written = Object.entries(stringData ?? {}).map(([key, text]) => [
    key,
    Buffer.from(text, 'utf8').toString('base64'),
  ]);
  const stored: Secret = { ...rest, type: rest.type || 'Opaque' };
  if (rest.data !== undefined || written.length > 0) stored.data = { ...rest.data, ...Object.fromEntries(written) };
  return stored;
}
