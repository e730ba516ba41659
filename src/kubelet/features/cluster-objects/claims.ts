import type { ApiClient } from '../../../api/client/api-client.ts';
import type { ObjectKey } from '../../../api/client/resource-type.ts';
import { formatKey } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import { readObject, readOrKept } from './read-object.ts';
import type { KeptObjects } from './kept-objects.ts';
import { versionOf } from './slim-object.ts';

export interface ClaimsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly kept: KeptObjects;
  readonly changed: (kind: 'PersistentVolumeClaim' | 'PersistentVolume', key: ObjectKey) => void;
}

/**
 * The interval of polls of claims in use, as often as upstream syncs their pods. Nodes may get claims and volumes, but
 * not watch them (upstream: node authorizer).
 */
const CHECK_MS = 60_000;
/** The interval of polls of unbound claims. It is short, because an unbound claim delays a pod. */
const CHECK_UNBOUND_MS = 1_000;
const CHECK_JITTER = 0.5;

interface Claim {
  readonly key: ObjectKey;
  readonly users: Set<string>;
  /** The claim and volume as last read; undefined before the first read. */
  seen:
    | { readonly claim: PersistentVolumeClaim | undefined; readonly volume: PersistentVolume | undefined }
    | undefined;
}

const claimId = ({ namespace, name }: ObjectKey): string => `PersistentVolumeClaim/${namespace}/${name}`;
export const volumeId = (name: string): string => `PersistentVolume//${name}`;

/**
 * Reads the claims of this node's pods and the volumes to which they are bound. Each use reads them, and they are
 * polled.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #claims = new Map<string, Claim>();
  readonly #checkLoop: Loop;
  /** The monotonic time when the claims that delay no pod were last polled. */
  #checkedAllMs = -Infinity;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    const { clock, random, log } = options;
    this.#checkLoop = createLoop({
      name: 'poll claims',
      clock,
      random,
      log,
      periodMs: () => (this.#someUnbound() ? CHECK_UNBOUND_MS : CHECK_MS),
      jitterFactor: CHECK_JITTER,
      pass: () => this.#checkAll(),
    });
  }

  start(): void {
    this.#checkLoop.start();
  }

  stop(): Promise<void> {
    return this.#checkLoop.stop();
  }

  use(key: ObjectKey, user: string): void {
    const claim = this.#claims.get(formatKey(key)) ?? { key, users: new Set(), seen: undefined };
    this.#claims.set(formatKey(key), claim);
    claim.users.add(user);
  }

  release(key: ObjectKey, user: string): void {
    const claim = this.#claims.get(formatKey(key));
    if (claim === undefined || !claim.users.delete(user) || claim.users.size > 0) return;
    this.#claims.delete(formatKey(key));
    this.#options.kept.drop(claimId(key));
    const volumeName = claim.seen?.volume?.metadata.name;
    if (volumeName !== undefined) this.#options.kept.drop(volumeId(volumeName));
  }

  async claim(key: ObjectKey): Promise<PersistentVolumeClaim | undefined> {
    const { client, kept } = this.#options;
    const last = (): PersistentVolumeClaim | undefined =>
      this.peek(key)?.claim ?? kept.left<PersistentVolumeClaim>(claimId(key));
    const found = await readOrKept({ client, type: persistentVolumeClaims, key }, last);
    const known = this.#claims.get(formatKey(key));
    if (known === undefined) return found;
    known.seen = { claim: found, volume: found === undefined ? undefined : known.seen?.volume };
    if (found === undefined) kept.drop(claimId(key));
    else kept.keep(claimId(key), found);
    // The interval depends on the last result.
    if (!isBound(found)) this.#checkLoop.wake();
    return found;
  }

  async volume(name: string): Promise<PersistentVolume | undefined> {
    const { client, kept } = this.#options;
    const found = await readOrKept(
      { client, type: persistentVolumes, key: { namespace: '', name } },
      () => this.peekVolume(name) ?? kept.left<PersistentVolume>(volumeId(name)),
    );
    for (const known of this.#claims.values()) {
      if (known.seen?.claim?.spec.volumeName !== name) continue;
      known.seen = { ...known.seen, volume: found };
      if (found !== undefined) kept.keep(volumeId(name), found);
    }
    return found;
  }

  /** Returns the last known state of a claim in use. */
  peek(key: ObjectKey): Claim['seen'] {
    return this.#claims.get(formatKey(key))?.seen;
  }

  peekVolume(name: string): PersistentVolume | undefined {
    return [...this.#claims.values()].find(({ seen }) => seen?.volume?.metadata.name === name)?.seen?.volume;
  }

  #someUnbound(): boolean {
    return [...this.#claims.values()].some(holdsUp);
  }

  async #checkAll(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    const isTimeForAll = nowMs - this.#checkedAllMs >= CHECK_MS;
    if (isTimeForAll) this.#checkedAllMs = nowMs;
    for (const claim of [...this.#claims.values()])
      if (claim.seen !== undefined && (isTimeForAll || holdsUp(claim)))
        await this.#checkClaim(claim).catch(() => undefined);
  }

  /** Reads the claim. Rejects if there is no answer, and does not change the state then. */
  async #checkClaim({ key, seen: before }: Claim): Promise<void> {
    const { client, changed } = this.#options;
    const claim = await readObject(client, persistentVolumeClaims, key);
    const volumeName = claim?.spec.volumeName ?? '';
    const volume =
      volumeName === '' ? undefined : await readObject(client, persistentVolumes, { namespace: '', name: volumeName });
    const known = this.#claims.get(formatKey(key));
    if (known === undefined) return;
    known.seen = { claim, volume };
    if (claim !== undefined) this.#options.kept.keep(claimId(key), claim);
    if (volume !== undefined) this.#options.kept.keep(volumeId(volumeName), volume);
    if (versionOf(before?.claim) !== versionOf(claim)) changed('PersistentVolumeClaim', key);
    if (volume !== undefined && versionOf(before?.volume) !== versionOf(volume))
      changed('PersistentVolume', { namespace: '', name: volumeName });
  }
}

function holdsUp({ seen }: Claim): boolean {
  return seen !== undefined && (!isBound(seen.claim) || seen.volume === undefined);
}

function isBound(claim: PersistentVolumeClaim | undefined): boolean {
  return claim?.status?.phase === 'Bound' && (claim.spec.volumeName ?? '') !== '';
}
