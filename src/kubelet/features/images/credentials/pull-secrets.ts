import { Buffer } from 'node:buffer';
import type { Pod } from '../../../../api/core/pod.ts';
import type { Secret } from '../../../../api/core/secret.ts';
import { errorMessage } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { SecretLookup } from '../interfaces.ts';
import type { ParsedDockerConfig } from './docker-config.ts';
import { parseDockerConfig } from './docker-config.ts';
import { Keyring } from './keyring.ts';

const jsonType = { type: 'kubernetes.io/dockerconfigjson', key: '.dockerconfigjson' } as const;
const legacyType = { type: 'kubernetes.io/dockercfg', key: '.dockercfg' } as const;

/** Returns the credentials in a Secret; undefined for a Secret of another type. */
function dockerConfigOf(secret: Secret): ParsedDockerConfig | undefined {
  for (const { type, key } of [jsonType, legacyType]) {
    const data = secret.data?.[key];
    if (secret.type === type && data !== undefined && data !== '')
      return parseDockerConfig(Buffer.from(data, 'base64').toString('utf8'), type === legacyType.type);
  }
  return undefined;
}

export interface FoundPullSecrets {
  readonly keyring: Keyring;
  /** The names of missing secrets, in the pod's order. */
  readonly missing: readonly string[];
}

/**
 * Reads the pod's imagePullSecrets. A missing or invalid secret is not an error, because the image may be available
 * without it (upstream: getPullSecretsForPod).
 */
export async function findPullSecrets(pod: Pod, lookup: SecretLookup, log: Logger): Promise<FoundPullSecrets> {
  const keyring = new Keyring();
  const missing: string[] = [];
  const { namespace, name: podName } = pod.metadata;
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    if (name === '') continue;
    const secret = await secretOf(lookup, namespace, name, log);
    if (secret === undefined) {
      missing.push(name);
      continue;
    }
    const parsed = dockerConfigOf(secret);
    for (const problem of parsed?.problems ?? [])
      log.warn('image pull secret cannot be used in full', {
        pod: `${namespace}/${podName}`,
        secret: `${namespace}/${name}`,
        problem,
      });
    if (parsed !== undefined) keyring.add(parsed.config, { uid: secret.metadata.uid, namespace, name });
  }
  return { keyring, missing };
}

async function secretOf(
  lookup: SecretLookup,
  namespace: string,
  name: string,
  log: Logger,
): Promise<Secret | undefined> {
  try {
    return await lookup.secret(namespace, name);
  } catch (error) {
    log.warn('image pull secret could not be looked up', {
      secret: `${namespace}/${name}`,
      error: errorMessage(error),
    });
    return undefined;
  }
}
