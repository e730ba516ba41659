import type { LabelSelector } from '../../api/core/meta.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodCertificateProjection } from '../../api/core/volume-source.ts';

/** A change of what a projected volume shows beside objects that have a name of their own. */
export interface CredentialChange {
  readonly kind: 'ClusterTrustBundle' | 'PodCertificateRequest';
  readonly namespace: string;
  /** Of a bundle: its name, or `trustedSigner`. Of a request: the UID of its pod. */
  readonly name: string;
}

/** Names all bundles of a signer. No bundle has such a name, as names have no slash. */
export const trustedSigner = (signerName: string): string => `signer/${signerName}`;

/** The certificates of ClusterTrustBundles: PEM, each once, in an order that stays while the agent runs. */
export interface TrustAnchors {
  /** Rejects when there is no such bundle, unless `optional`; then it is ''. */
  byName(name: string, optional: boolean): Promise<string>;
  /** Of all bundles of a signer with these labels. Without a selector there are none. */
  bySigner(signerName: string, selector: LabelSelector | undefined, optional: boolean): Promise<string>;
}

/** One source of one projected volume. */
export interface CertificateOrder {
  readonly pod: Pod;
  readonly volume: string;
  readonly sourceIndex: number;
  readonly source: PodCertificateProjection;
}

export interface IssuedCertificate {
  /** PKCS #8 in PEM. */
  readonly key: string;
  /** PEM. */
  readonly chain: string;
  /** After how long to ask for it again. */
  readonly againInMs: number;
}

/** The certificates of this node's pods (upstream: the kubelet's podCertificateManager). */
export interface PodCertificates {
  /** The newest certificate. Rejects while there is none, with what it waits for or why there will be none. */
  get(order: CertificateOrder): Promise<IssuedCertificate>;
  /** The pod was removed; drops its keys. */
  forget(podUid: string): void;
}
