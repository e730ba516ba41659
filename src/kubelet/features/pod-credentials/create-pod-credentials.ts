import { createInformer } from '../../../api/client/informer.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { clusterTrustBundles, podCertificateRequests } from '../../../api/client/resource-types.ts';
import { fieldEquals } from '../../../api/selectors.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { CredentialChange } from '../../ports/pod-credentials.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import { IssuedCertificates } from './issued-certificates.ts';
import type { RequestedKey } from './issued-certificates.ts';
import { TrustBundles } from './trust-bundles.ts';

export interface CreatePodCredentialsParts {
  /** The API client; undefined on a standalone node. */
  readonly client: ApiClient | undefined;
  readonly gates: { enabled(name: 'ClusterTrustBundleProjection' | 'PodCertificateRequest'): boolean };
  readonly nodeName: string;
  /** Creates a key. If it is absent, real keys are created. */
  readonly makeKey?: (keyType: string) => Promise<RequestedKey>;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface PodCredentials {
  /** The trust bundles; undefined while their feature gate is off. */
  readonly trust: TrustBundles | undefined;
  readonly certificates: IssuedCertificates | undefined;
  onChange(listener: (change: CredentialChange) => void): void;
  stop(): Promise<void>;
}

/** Creates the sources of certificates.k8s.io for projected volumes. Informers start when the first pod needs them. */
export function createPodCredentials(parts: CreatePodCredentialsParts): PodCredentials {
  const { client, gates, nodeName, random } = parts;
  const listeners = new Set<(change: CredentialChange) => void>();
  const onChange = (change: CredentialChange): void => {
    for (const listener of listeners) listener(change);
  };
  const trust =
    client !== undefined && gates.enabled('ClusterTrustBundleProjection')
      ? new TrustBundles({
          ...parts,
          informer: createInformer({ ...parts, client, type: clusterTrustBundles, namespace: '' }),
          salt: random.uuid(),
          onChange,
        })
      : undefined;
  const certificates =
    client !== undefined && gates.enabled('PodCertificateRequest')
      ? new IssuedCertificates({
          ...parts,
          client,
          informer: createInformer({
            ...parts,
            client,
            type: podCertificateRequests,
            namespace: '',
            fieldSelector: fieldEquals('spec.nodeName', nodeName),
          }),
          // The library is loaded on demand, because it costs memory that most nodes do not need.
          makeKey: parts.makeKey ?? (async (keyType) => (await import('../../../pki/pod-key.ts')).makePodKey(keyType)),
          onChange,
        })
      : undefined;
  return {
    trust,
    certificates,
    onChange: (listener) => void listeners.add(listener),
    stop: async () => {
      await Promise.all([trust?.stop(), certificates?.stop()]);
    },
  };
}
