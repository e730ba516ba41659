import type { LabelSelector } from '../../api/core/meta.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodCertificateProjection } from '../../api/core/volume-source.ts';

/** A change of a certificate source of projected volumes. */
export interface CredentialChange {
  readonly kind: 'ClusterTrustBundle' | 'PodCertificateRequest';
  readonly namespace: string;
  /** For a bundle, its name or the result of `trustedSigner`. For a request, the UID of its pod. */
  readonly name: string;
}

/** Returns a name for all bundles of a signer. Names of bundles have no slash, so none equals it. */
export const trustedSigner = (signerName: string): string => `signer/${signerName}`;

/** The certificates of ClusterTrustBundles in PEM, each once, in an order that does not change while the agent runs. */
export interface TrustAnchors {
  /** Returns the certificates of a bundle. If it does not exist, it rejects, or returns '' if `optional` is set. */
  byName(name: string, optional: boolean): Promise<string>;
  /** Returns the certificates of all bundles of a signer with these labels. Without a selector there are none. */
  bySigner(signerName: string, selector: LabelSelector | undefined, optional: boolean): Promise<string>;
}

/** One certificate source of one projected volume. */
export interface CertificateOrder {
  readonly pod: Pod;
  readonly volume: string;
  readonly sourceIndex: number;
  readonly source: PodCertificateProjection;
}

export interface IssuedCertificate {
  /** The key as PKCS #8 in PEM. */
  readonly key: string;
  /** The certificates in PEM. */
  readonly chain: string;
  /** The milliseconds after which to request it again. */
  readonly againInMs: number;
}

/** The certificates of this node's pods (upstream: the kubelet's podCertificateManager). */
export interface PodCertificates {
  /**
   * Returns the newest certificate. While there is none, it rejects with the reason: what it waits for, or why there
   * will be none.
   */
  get(order: CertificateOrder): Promise<IssuedCertificate>;
  /** Drops the keys of a removed pod. */
  forget(podUid: string): void;
}
