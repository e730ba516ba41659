import { ownValue } from '../../../base/lookup.ts';
import type { AccountSource, SecretSource } from './credentials/keyring.ts';

export type VerificationPolicy =
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

/** A Secret with which an image was pulled, and the digest of its credentials. */
export interface PulledWithSecret extends SecretSource {
  readonly credentialHash: string;
}

/** Which pods may use an image that the agent pulled, for each name by which it was pulled. */
export interface PulledWith {
  /**
   * Whether the image was pulled without credentials or with the node's own, so that all pods of the node may use it.
   */
  readonly nodePodsAccessible: boolean;
  readonly secrets: readonly PulledWithSecret[];
  /** The service accounts for which a plugin returned the credentials. Their pods may use the image. */
  readonly accounts?: readonly AccountSource[];
}

export interface PulledRecord {
  readonly imageRef: string;
  readonly lastUpdatedMs: number;
  /** The entries by image name without tag and digest. */
  readonly credentials: Readonly<Record<string, PulledWith>>;
}

/** Returns the name without tag and digest. */
export function trimTagAndDigest(image: string): string {
  const named = image.split('@')[0] ?? image;
  const colon = named.lastIndexOf(':');
  return colon > named.lastIndexOf('/') ? named.slice(0, colon) : named;
}

/** Whether a present image needs verification (upstream: pullmanager/image_pull_policies.go). */
export function needsVerification(
  policy: VerificationPolicy,
  allowlist: readonly string[],
  image: string,
  pulledByAgent: boolean,
): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return pulledByAgent;
    case 'NeverVerifyAllowlistedImages':
      return !isAllowlisted(allowlist, trimTagAndDigest(image));
    case 'AlwaysVerify':
      return true;
  }
}

function isAllowlisted(allowlist: readonly string[], name: string): boolean {
  return allowlist.some((pattern) =>
    pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** The maximum number of Secrets that are added to a record because they matched. */
const MATCHING_WRITES_LIMIT = 100;

export type AccessProof = { kind: 'granted'; learned?: PulledWithSecret } | { kind: 'denied' };

/**
 * What proves the access of a pod: its pull secrets, and its service account if a plugin returns credentials for it.
 */
export interface PodAccess {
  readonly secrets: readonly PulledWithSecret[];
  readonly accounts: readonly AccountSource[];
}

/**
 * Decides whether a pod may use the image that was pulled by that name. It may if the image is open to all, was pulled
 * for the pod's service account, or was pulled with one of the pod's secrets, by content or by name. A secret that
 * matches in only one of the two is recorded (`learned`), so that it stays valid when the other changes.
 */
export function proveAccess(pulledWith: PulledWith | undefined, pod: PodAccess): AccessProof {
  if (pulledWith === undefined) return { kind: 'denied' };
  if (pulledWith.nodePodsAccessible) return { kind: 'granted' };
  const accounts = new Set(pulledWith.accounts?.map(placeOf));
  if (pod.accounts.some((account) => accounts.has(placeOf(account)))) return { kind: 'granted' };
  for (const mine of pod.secrets) {
    for (const known of pulledWith.secrets) {
      const sameContent = known.credentialHash !== '' && known.credentialHash === mine.credentialHash;
      const samePlace = known.uid === mine.uid && known.namespace === mine.namespace && known.name === mine.name;
      if (!sameContent && !samePlace) continue;
      const worthKeeping = sameContent !== samePlace && pulledWith.secrets.length < MATCHING_WRITES_LIMIT;
      if (sameContent || worthKeeping) return worthKeeping ? { kind: 'granted', learned: mine } : { kind: 'granted' };
    }
  }
  return { kind: 'denied' };
}

/**
 * Adds an allowed access to the record. Returns the same object if nothing changes. Node-wide access is never removed.
 */
export function mergeRecord(
  record: PulledRecord | undefined,
  add: { imageRef: string; image: string; pulledWith: PulledWith | undefined },
  nowMs: number,
): PulledRecord {
  const name = trimTagAndDigest(add.image);
  const { pulledWith } = add;
  if (record === undefined)
    return {
      imageRef: add.imageRef,
      lastUpdatedMs: nowMs,
      credentials: pulledWith === undefined ? {} : { [name]: pulledWith },
    };
  if (pulledWith === undefined || isEmpty(pulledWith)) return record;
  const known = ownValue(record.credentials, name);
  if (known?.nodePodsAccessible === true) return record;
  const merged = known === undefined ? pulledWith : mergeAccess(known, pulledWith);
  return merged === known
    ? record
    : { ...record, lastUpdatedMs: nowMs, credentials: { ...record.credentials, [name]: merged } };
}

const isEmpty = ({ nodePodsAccessible, secrets, accounts = [] }: PulledWith): boolean =>
  !nodePodsAccessible && secrets.length === 0 && accounts.length === 0;

function mergeAccess(known: PulledWith, add: PulledWith): PulledWith {
  if (add.nodePodsAccessible) return { nodePodsAccessible: true, secrets: [] };
  const byPlace = new Map(known.secrets.map((secret) => [placeOf(secret), secret]));
  let changed = false;
  for (const secret of add.secrets) {
    if (byPlace.get(placeOf(secret))?.credentialHash === secret.credentialHash) continue;
    changed = true;
    byPlace.set(placeOf(secret), secret);
  }
  const accounts = new Map((known.accounts ?? []).map((account) => [placeOf(account), account]));
  for (const account of add.accounts ?? []) {
    if (accounts.has(placeOf(account))) continue;
    changed = true;
    accounts.set(placeOf(account), account);
  }
  if (!changed) return known;
  return {
    nodePodsAccessible: false,
    secrets: inOrder(byPlace),
    ...(accounts.size > 0 ? { accounts: inOrder(accounts) } : {}),
  };
}

const inOrder = <T>(byPlace: ReadonlyMap<string, T>): T[] =>
  [...byPlace.entries()].sort(([left], [right]) => (left < right ? -1 : Number(left > right))).map(([, one]) => one);

/** Returns the sort key: namespace, name, UID. */
function placeOf({ uid, namespace, name }: SecretSource): string {
  return `${namespace}\0${name}\0${uid}`;
}
