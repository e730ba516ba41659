import { createHash } from 'node:crypto';
import type { ClusterTrustBundle } from '../../../api/certificates/cluster-trust-bundle.ts';
import type { OwnInformer } from '../../../api/client/informer.ts';
import type { LabelSelector } from '../../../api/core/meta.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { withDeadline } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import { readPemBlocks } from '../../../base/pem-blocks.ts';
import { toPem } from '../../../pki/pem.ts';
import { trustedSigner } from '../../ports/pod-credentials.ts';
import type { CredentialChange, TrustAnchors } from '../../ports/pod-credentials.ts';

const SYNC_LIMIT_MS = 1_000;

export interface TrustBundlesOptions {
  /** The informer of bundles. It starts when the first pod needs it. */
  readonly informer: OwnInformer<ClusterTrustBundle>;
  readonly clock: Clock;
  /** A random text that determines the order of certificates, so that no pod relies on an order. */
  readonly salt: string;
  readonly onChange: (change: CredentialChange) => void;
}

/** Supplies ClusterTrustBundles for volumes (upstream: clustertrustbundle_manager.go). */
export class TrustBundles implements TrustAnchors {
  readonly #options: TrustBundlesOptions;
  readonly #end: () => void;

  constructor(options: TrustBundlesOptions) {
    this.#options = options;
    const changed = ({ metadata, spec }: ClusterTrustBundle): void => {
      options.onChange({ kind: 'ClusterTrustBundle', namespace: '', name: metadata.name });
      if (spec.signerName)
        options.onChange({ kind: 'ClusterTrustBundle', namespace: '', name: trustedSigner(spec.signerName) });
    };
    this.#end = options.informer.addHandlers({
      onAdd: changed,
      onUpdate: (before, after) => {
        if (before.spec.trustBundle !== after.spec.trustBundle || before.metadata.labels !== after.metadata.labels)
          changed(after);
      },
      onDelete: changed,
    });
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#options.informer.stop();
  }

  async byName(name: string, optional: boolean): Promise<string> {
    await this.#synced();
    const bundle = this.#options.informer.get({ namespace: '', name });
    if (bundle !== undefined) return this.#normalize([bundle]);
    if (optional) return '';
    throw new KubeletError(
      'NotFound',
      `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io ${JSON.stringify(name)} not found`,
    );
  }

  async bySigner(signerName: string, selector: LabelSelector | undefined, optional: boolean): Promise<string> {
    await this.#synced();
    const bundles = this.#options.informer
      .list()
      .filter(
        ({ metadata, spec }) =>
          spec.signerName === signerName &&
          selector !== undefined &&
          matchesLabelSelector(selector, metadata.labels ?? {}),
      );
    if (bundles.length > 0) return this.#normalize(bundles);
    if (optional) return '';
    throw new KubeletError('NotFound', 'combination of signerName and labelSelector matched zero ClusterTrustBundles');
  }

  async #synced(): Promise<void> {
    const { informer, clock } = this.#options;
    informer.start();
    try {
      await withDeadline({ clock, limitMs: SYNC_LIMIT_MS, op: 'list clustertrustbundles' }, () =>
        informer.whenSynced(),
      );
    } catch (error) {
      if (!isKind(error, 'Timeout')) throw error;
      const problem = informer.problem();
      const why = problem === undefined ? '' : `: ${errorMessage(problem.error)}`;
      throw new KubeletError('Unavailable', `ClusterTrustBundle informer has not yet synced${why}`);
    }
  }

  #normalize(bundles: readonly ClusterTrustBundle[]): string {
    const { salt } = this.#options;
    const blocks = new Map<string, string>();
    for (const { spec } of bundles)
      for (const { der } of readPemBlocks(spec.trustBundle))
        blocks.set(createHash('sha256').update(salt).update(der).digest('hex'), toPem('CERTIFICATE', der));
    return [...blocks]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([, pem]) => pem)
      .join('');
  }
}
