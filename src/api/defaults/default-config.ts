import { Buffer } from 'node:buffer';
import { copyJson } from '../../base/copy-json.ts';
import type { ConfigMap } from '../core/config-map.ts';
import type { Secret } from '../core/secret.ts';

/** A copy as the API server would have stored it. */
export function defaultConfigMap(configMap: ConfigMap): ConfigMap {
  return { ...copyJson(configMap), data: { ...configMap.data } };
}

/**
 * A copy as the API server would have stored it: typed, and with `stringData` folded into `data`, which it overrides.
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
