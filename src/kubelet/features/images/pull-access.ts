import { ownValue } from '../../../base/lookup.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Image, ImageRuntime } from '../../ports/images.ts';
import type { TrackedAuth } from './credentials/keyring.ts';
import type { PullRecordFiles } from './pull-records.ts';
import type { PodAccess, PulledRecord, PulledWith, VerificationPolicy } from './pull-verification.ts';
import { mergeRecord, needsVerification, proveAccess, trimTagAndDigest } from './pull-verification.ts';

/** Why a pod may use a present image, or why it must first prove its access (upstream: mustAttemptImagePullResult). */
export type AccessCheck = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate';

export interface PullAccessOptions {
  readonly records: PullRecordFiles;
  readonly runtime: Pick<ImageRuntime, 'listImages'>;
  readonly policy: VerificationPolicy;
  readonly allowlist: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly onCheck?: ((result: AccessCheck) => void) | undefined;
}

/**
 * Decides which pods may use which of the node's images (upstream: images/pullmanager). Invariants:
 * 1. An image pulled with a pod's secret is available only to pods that have that secret, whatever their pull policy.
 *    The same applies to credentials that a plugin returned for a service account.
 * 2. Records are read once and then kept in memory. Every change is on disk before it takes effect.
 * 3. If the end of a pull was not recorded, the image counts as pulled with unknown credentials, so access must be
 *    proven.
 * 4. NeverVerify reads and checks nothing, but records are still written in case the policy changes.
 */
export class PullAccess {
  readonly #options: PullAccessOptions;
  readonly #records = new Map<string, PulledRecord>();
  /** The pulls in progress by image, and the intents that an earlier run left. */
  readonly #intents = new Map<string, number>();
  #loading: Promise<void> | undefined;

  constructor(options: PullAccessOptions) {
    this.#options = options;
  }

  /** Reads the records and completes unfinished work of an earlier run. The first request calls it if necessary. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Whether this pod may use the present image. `ownOfPod` is called only if the answer depends on it. */
  async mayUse(image: string, imageRef: string, ownOfPod: () => Promise<readonly TrackedAuth[]>): Promise<boolean> {
    const result = await this.#check(image, imageRef, ownOfPod);
    this.#options.onCheck?.(result);
    return result !== 'mustAuthenticate';
  }

  /** Returns the number of intents and records. */
  sizes(): { intents: number; records: number } {
    return { intents: this.#intents.size, records: this.#records.size };
  }

  async #check(image: string, imageRef: string, ownOfPod: () => Promise<readonly TrackedAuth[]>): Promise<AccessCheck> {
    const { policy, allowlist, log } = this.#options;
    if (policy === 'NeverVerify') return 'credentialPolicyAllowed';
    await this.load();
    const record = this.#records.get(imageRef);
    if (!needsVerification(policy, allowlist, image, record !== undefined || this.#intents.has(image)))
      return 'credentialPolicyAllowed';
    const pulledWith = ownValue(record?.credentials, trimTagAndDigest(image));
    if (pulledWith === undefined) return 'mustAuthenticate';
    const proof = proveAccess(pulledWith, accessOf(pulledWith.nodePodsAccessible ? [] : await ownOfPod()));
    if (proof.kind === 'granted' && proof.learned !== undefined) {
      await this.#merge(image, imageRef, { nodePodsAccessible: false, secrets: [proof.learned] }).catch(
        (error: unknown) => log.warn('image pull record could not be written', { image, error: errorMessage(error) }),
      );
    }
    return proof.kind === 'granted' ? 'credentialRecordFound' : 'mustAuthenticate';
  }

  /** Must be called before a pull. Rejects if the pull cannot be recorded; then it must not happen. */
  async begin(image: string): Promise<void> {
    await this.load();
    const underWay = this.#intents.get(image) ?? 0;
    this.#intents.set(image, underWay + 1);
    try {
      if (underWay === 0) await this.#options.records.writeIntent(image);
    } catch (error) {
      this.#leave(image);
      throw error;
    }
  }

  async succeeded(image: string, imageRef: string, used: TrackedAuth | undefined): Promise<void> {
    const { secrets, accounts } = accessOf(used === undefined ? [] : [used]);
    const nodePodsAccessible = secrets.length + accounts.length === 0;
    try {
      await this.#merge(image, imageRef, { nodePodsAccessible, secrets, ...(accounts.length > 0 ? { accounts } : {}) });
    } catch (error) {
      // The intent is kept: the image still counts as pulled by the agent, and access must be proven.
      this.#options.log.error('failed to write image pulled record', { imageRef, error: errorMessage(error) });
      return;
    }
    await this.#end(image);
  }

  async failed(image: string): Promise<void> {
    await this.#end(image);
  }

  /**
   * Drops the records of images that no longer exist. `beforeMs` (wall clock) protects those of pulls that ended during
   * the collection.
   */
  async prune(presentRefs: ReadonlySet<string>, beforeMs: number): Promise<void> {
    await this.load();
    for (const [imageRef, record] of this.#records) {
      if (presentRefs.has(imageRef) || record.lastUpdatedMs >= beforeMs) continue;
      try {
        await this.#options.records.removeRecord(imageRef);
        this.#records.delete(imageRef);
      } catch (error) {
        this.#options.log.warn('image pull record could not be removed', { imageRef, error: errorMessage(error) });
      }
    }
  }

  async #load(): Promise<void> {
    const { records, runtime, log } = this.#options;
    try {
      await records.makeFolders();
      for (const record of await records.records()) this.#records.set(record.imageRef, record);
      const left = await records.intents();
      if (left.length === 0) return;
      for (const image of left) this.#intents.set(image, 1);
      await this.#settleIntents(left, await runtime.listImages());
    } catch (error) {
      log.error('image pull records could not be loaded in full', { error: errorMessage(error) });
    }
  }

  async #settleIntents(left: readonly string[], images: readonly Image[]): Promise<void> {
    for (const image of left) {
      const present = images.find(
        ({ repoTags, repoDigests }) => repoTags.includes(image) || repoDigests.includes(image),
      );
      if (present === undefined) continue;
      await this.#merge(image, present.id, undefined);
      await this.#end(image);
    }
  }

  async #merge(image: string, imageRef: string, pulledWith: PulledWith | undefined): Promise<void> {
    const known = this.#records.get(imageRef);
    const merged = mergeRecord(known, { imageRef, image, pulledWith }, this.#options.clock.nowMs());
    if (merged === known) return;
    this.#records.set(imageRef, merged);
    await this.#options.records.writeRecord(merged);
  }

  async #end(image: string): Promise<void> {
    if (!this.#leave(image)) return;
    try {
      await this.#options.records.removeIntent(image);
    } catch (error) {
      this.#options.log.warn('image pull intent could not be removed', { image, error: errorMessage(error) });
    }
  }

  /** Ends a pull. Returns whether it was the last pull of the image in progress. */
  #leave(image: string): boolean {
    const left = (this.#intents.get(image) ?? 1) - 1;
    if (left > 0) this.#intents.set(image, left);
    else this.#intents.delete(image);
    return left <= 0;
  }
}

function accessOf(credentials: readonly TrackedAuth[]): PodAccess {
  return {
    secrets: credentials.flatMap(({ source, hash }) =>
      source === undefined ? [] : [{ ...source, credentialHash: hash }],
    ),
    accounts: credentials.flatMap(({ account }) => account ?? []),
  };
}
