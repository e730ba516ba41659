import { Buffer } from 'node:buffer';
import type { Pod } from '../../../api/core/pod.ts';
import type { FsGroupPolicy, TokenRequest, VolumeLifecycleMode } from '../../../api/storage/csi-driver.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { PodTokens } from '../../ports/tokens.ts';
import { said } from './csi-names.ts';
import type { SecretAt } from './csi-request.ts';

/**
 * The properties of a CSIDriver with the API server's defaults. If there is no such object, it has only the defaults.
 */
export interface DriverFacts {
  readonly known: boolean;
  readonly attachRequired: boolean;
  readonly podInfoOnMount: boolean;
  readonly lifecycleModes: readonly VolumeLifecycleMode[];
  readonly fsGroupPolicy: FsGroupPolicy;
  readonly requiresRepublish: boolean;
  readonly tokenRequests: readonly TokenRequest[];
  readonly tokensInSecrets: boolean;
}

/** Reads what `ControllerPublishVolume` returned for this node. It is used only for drivers that need attaching. */
export interface Attachments {
  /** Rejects, with upstream's message, if the volume is not attached to this node. */
  check(driver: string, handle: string): Promise<void>;
  publishContext(driver: string, handle: string): Promise<Readonly<Record<string, string>>>;
}

/**
 * Creates the attachments of a node without an API server. It has no attach controller, so every driver is treated as
 * one that needs no attaching, which is logged once per driver.
 */
export function standaloneAttachments(log: Logger): Attachments {
  const logged = new Set<string>();
  return {
    check: () => Promise.resolve(),
    publishContext: (driver) => {
      if (!logged.has(driver))
        log.info(
          'a CSI driver may need its volumes attached, which a node without an API server cannot do; it is called without attaching (CSIDriver attachRequired: false silences this)',
          { driver },
        );
      logged.add(driver);
      return Promise.resolve({});
    },
  };
}

/** The API server's default of TokenRequest, in seconds. */
const TOKEN_SECONDS = 3600;
const TOKENS_KEY = 'csi.storage.k8s.io/serviceAccount.tokens';

/** Reads everything about a volume that is not in the pod: the CSIDriver, secrets and tokens. */
export class CsiLookup {
  readonly #objects: ClusterObjects;
  readonly #tokens: Pick<PodTokens, 'get'>;

  constructor(options: { objects: ClusterObjects; tokens: Pick<PodTokens, 'get'> }) {
    this.#objects = options.objects;
    this.#tokens = options.tokens;
  }

  async driver(name: string): Promise<DriverFacts> {
    const object = await this.#objects.get('CSIDriver', '', name);
    const spec = object?.spec;
    return {
      known: object !== undefined,
      attachRequired: spec?.attachRequired ?? true,
      podInfoOnMount: spec?.podInfoOnMount ?? false,
      lifecycleModes: spec?.volumeLifecycleModes ?? ['Persistent'],
      fsGroupPolicy: spec?.fsGroupPolicy ?? 'ReadWriteOnceWithFSType',
      requiresRepublish: spec?.requiresRepublish ?? false,
      tokenRequests: spec?.tokenRequests ?? [],
      tokensInSecrets: spec?.serviceAccountTokenInSecrets ?? false,
    };
  }

  /** Reads a secret. `field` is the name of the reference in the message. */
  async secret(field: string, at: SecretAt | undefined): Promise<Record<string, string>> {
    if (at === undefined) return {};
    const secret = await this.#objects.get('Secret', at.namespace, at.name);
    const about = `fetching ${field} ${at.namespace}/${at.name} failed:`;
    if (secret === undefined) {
      throw new KubeletError(
        'NotFound',
        `${about} ${said(`failed to find the secret ${at.name} in the namespace ${at.namespace} with error: secrets ${JSON.stringify(at.name)} not found`)}`,
      );
    }
    return Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [
        key,
        textOf(value, `${about} key ${JSON.stringify(key)}`),
      ]),
    );
  }

  /** Returns a token for each audience that the driver requests, in CSI's format, or {} if it requests none. */
  async tokens(driver: DriverFacts, pod: Pod): Promise<Record<string, string>> {
    if (driver.tokenRequests.length === 0) return {};
    const issued: [audience: string, { token: string; expirationTimestamp: string }][] = [];
    for (const { audience, expirationSeconds } of driver.tokenRequests) {
      const order = {
        namespace: pod.metadata.namespace,
        serviceAccount: pod.spec.serviceAccountName ?? '',
        audiences: audience === '' ? [] : [audience],
        expirationSeconds: expirationSeconds ?? TOKEN_SECONDS,
      };
      const { token, expiresAtMs } = await this.#tokens.get({
        ...order,
        pod: { name: pod.metadata.name, uid: pod.metadata.uid },
      });
      issued.push([
        audience,
        { token, expirationTimestamp: new Date(expiresAtMs).toISOString().replace(/\.\d{3}Z$/, 'Z') },
      ]);
    }
    return { [TOKENS_KEY]: JSON.stringify(Object.fromEntries(issued)) };
  }
}

/** Decodes a value as text, because gRPC carries only text. The error never contains the value. */
function textOf(base64: string, about: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    throw new KubeletError('Invalid', `${about} is not UTF-8 text, which is all that CSI can carry`);
  }
}
