import { Buffer } from 'node:buffer';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isClaimForPod, isReservedFor, podClaimName, resourceClaimNames } from '../../../api/resource/pod-claims.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { DraClaim, PreparedDevice } from '../../ports/dra-drivers.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { decodeClaims, encodeClaims } from './claim-checkpoint.ts';
import { cdiIdsOf, devicesOf } from './claim-info.ts';
import type { ClaimInfo, ClaimUse } from './claim-info.ts';
import { healthKey } from './device-health.ts';
import type { DraDriverRegistry } from './driver-registry.ts';

export interface DraManagerOptions {
  readonly drivers: DraDriverRegistry;
  /** Reads the claim from the API server. Rejects if it does not exist. */
  readonly fetchClaim: (namespace: string, name: string) => Promise<ResourceClaim>;
  /** The path of the checkpoint, `<root>/dra_manager_state`. */
  readonly path: string;
  readonly files: Pick<HostFiles, 'readText' | 'writeFileAtomic' | 'rename'>;
  /** The clock that measures the duration of operations. */
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly onOperation?: (operation: DraOperation) => void;
  readonly log: Logger;
}

/** The result of preparing or unpreparing all claims of one pod. */
export interface DraOperation {
  readonly name: 'PrepareResources' | 'UnprepareResources';
  readonly isError: boolean;
  readonly durationMs: number;
}

/**
 * The size limit of one driver's devices for one claim in bytes, so that all claims of a full node fit into the
 * checkpoint.
 */
const MAX_ANSWER_BYTES = 128 * 1024;
const LIMIT_BYTES = 64 * 1024 * 1024;
const MODE = 0o600;

/**
 * Prepares resource claims for pods (upstream: cm/dra). Invariants:
 * 1. The use of a claim by a pod is on disk before a driver is called, and until the driver has unprepared the claim.
 * 2. Calls for one claim run one after another. Different claims do not wait for each other.
 * 3. A claim is unprepared when its last pod on the node has ended.
 */
export class DraManager {
  readonly #options: DraManagerOptions;
  /** The claims by `namespace/name`. */
  readonly #claims = new Map<string, ClaimInfo>();
  /**
   * The UIDs of claims that this agent has prepared. After a restart all are prepared again, which drivers must accept.
   */
  readonly #prepared = new Set<string>();
  readonly #busy = new Map<string, Promise<void>>();
  #writing: Promise<void> = Promise.resolve();

  constructor(options: DraManagerOptions) {
    this.#options = options;
  }

  /** Reads the state of an earlier run. A corrupt file is renamed. Never rejects. */
  async start(): Promise<void> {
    const { files, path, log } = this.#options;
    try {
      const claims = decodeClaims(await files.readText(path, LIMIT_BYTES));
      for (const claim of claims ?? []) this.#claims.set(keyOf(claim), claim);
      if (claims !== undefined) return;
      log.error('the checkpoint of resource claims is corrupt; it was set aside', { path, movedTo: `${path}.corrupt` });
      await files.rename(path, `${path}.corrupt`);
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.error('the checkpoint of resource claims cannot be read, continuing without it', {
          path,
          error: errorMessage(error),
        });
    }
  }

  /** Prepares all claims of the pod. Rejects with the message for users. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace } = pod.metadata;
    const names = resourceClaimNames(pod);
    const podClaims = pod.spec.resourceClaims ?? [];
    if (names.length === 0 && podClaims.length === 0) return;
    await this.#observed('PrepareResources', async () => {
      for (const podClaim of podClaims)
        if (podClaimName(pod, podClaim).kind === 'notCreated')
          throw failure(`pod "${namespace}/${pod.metadata.name}": ResourceClaim not created yet`);
      const keys = names.map((name) => `${namespace}/${name}`);
      await this.#exclusively(keys, () => this.#prepareClaims(pod, names, signal));
    });
  }

  /**
   * Unprepares the claims of a pod of which nothing runs any more. Rejects if a driver fails; then it must be called
   * again.
   */
  async unprepare(podUid: string, signal: AbortSignal): Promise<void> {
    const used = [...this.#claims].filter(([, { podUids }]) => podUids.has(podUid));
    if (used.length === 0) return;
    await this.#observed('UnprepareResources', async () => {
      const keys = used.map(([key]) => key);
      await this.#exclusively(keys, () => this.#unprepareClaims(keys, podUid, signal));
    });
  }

  /**
   * Unprepares the claims of pods that were removed while the agent was not running. Never rejects (upstream: cm/dra
   * reconcileLoop).
   */
  async unprepareInactive(isKnown: (podUid: string) => boolean, signal: AbortSignal): Promise<void> {
    const users = new Set([...this.#claims.values()].flatMap(({ podUids }) => [...podUids]));
    for (const podUid of users) {
      if (isKnown(podUid)) continue;
      try {
        await this.unprepare(podUid, signal);
      } catch (error) {
        this.#options.log.warn('claims of a pod that is gone cannot be unprepared yet', {
          podUid,
          error: errorMessage(error),
        });
      }
    }
  }

  /** Returns the pods that use one of these devices of the driver. The keys are `pool/device`. */
  podsUsing(driver: string, keys: ReadonlySet<string>): ReadonlySet<string> {
    const pods = new Set<string>();
    for (const { drivers, podUids } of this.#claims.values())
      if ((drivers.get(driver) ?? []).some(({ poolName, deviceName }) => keys.has(healthKey(poolName, deviceName))))
        for (const podUid of podUids) pods.add(podUid);
    return pods;
  }

  /** Returns the claims that a container uses, each once. Unprepared claims are left out. */
  claimsOf(pod: Pod, container: AnyContainer): readonly ClaimInfo[] {
    const names = new Set(this.#requestsOf(pod, container).map(({ claim }) => claim));
    return [...names].flatMap((name) => this.#claims.get(`${pod.metadata.namespace}/${name}`) ?? []);
  }

  /** Returns each entry of `resources.claims`, with the devices of the request that it names. */
  usesOf(pod: Pod, container: AnyContainer): readonly ClaimUse[] {
    return this.#namedUses(pod, container).flatMap(({ use, request, claim }) => {
      const info = this.#claims.get(`${pod.metadata.namespace}/${claim}`);
      return info === undefined ? [] : [{ name: use, request, devices: devicesOf(info, request) }];
    });
  }

  /** Returns how many claims pods of this node use: by driver, and in total under `<any>`. */
  claimsInUse(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>([['<any>', this.#claims.size]]);
    for (const { drivers } of this.#claims.values())
      for (const driver of drivers.keys()) counts.set(driver, (counts.get(driver) ?? 0) + 1);
    return counts;
  }

  usesClaims(pod: Pod, container: AnyContainer): boolean {
    return this.#requestsOf(pod, container).length > 0;
  }

  /** Returns the CDI ids of the devices that the container uses. Throws if a claim is not prepared. */
  cdiDevices(pod: Pod, container: AnyContainer): string[] {
    const ids = this.#requestsOf(pod, container).flatMap(({ claim, request }) => {
      const info = this.#claims.get(`${pod.metadata.namespace}/${claim}`);
      if (info === undefined) throw failure(`unable to get information for ResourceClaim ${claim}`);
      return cdiIdsOf(info, request);
    });
    return [...new Set(ids)];
  }

  #namedUses(pod: Pod, { resources }: AnyContainer): { use: string; claim: string; request: string | undefined }[] {
    return (resources?.claims ?? []).flatMap((use) => {
      const podClaim = pod.spec.resourceClaims?.find((each) => each.name === use.name);
      const found = podClaim === undefined ? undefined : podClaimName(pod, podClaim);
      if (found?.kind !== 'named') return [];
      return [{ use: use.name, claim: found.name, request: use.request === '' ? undefined : use.request }];
    });
  }

  #requestsOf(pod: Pod, container: AnyContainer): { claim: string; request: string | undefined }[] {
    const { name } = container;
    const named = this.#namedUses(pod, container);
    const extended = pod.status?.extendedResourceClaimStatus;
    const mapped = (extended?.requestMappings ?? [])
      .filter(({ containerName }) => containerName === name)
      .map(({ requestName }) => ({ claim: extended?.resourceClaimName ?? '', request: requestName }));
    return [...named, ...mapped];
  }

  /** Calls each driver once, with all claims that it must prepare for the pod (upstream: cm/dra prepareResources). */
  async #prepareClaims(pod: Pod, names: readonly string[], signal: AbortSignal): Promise<void> {
    const wanted = new Map<string, PendingClaim>();
    for (const name of names) {
      const pending = await this.#noteUse(pod, name);
      if (pending !== undefined) wanted.set(pending.uid, pending);
    }
    if (wanted.size === 0) return;
    await this.#save();
    const calls = new Map<string, PendingClaim[]>();
    for (const pending of wanted.values()) {
      if (this.#prepared.has(pending.uid)) continue;
      for (const driver of pending.drivers.keys()) calls.set(driver, [...(calls.get(driver) ?? []), pending]);
    }
    for (const [driver, claims] of calls) await this.#callPrepare(driver, claims, signal);
    if (calls.size > 0) await this.#save();
    for (const uid of wanted.keys()) this.#prepared.add(uid);
  }

  /**
   * Checks that the pod may use the claim, and records the use. Returns undefined if the claim is already prepared for
   * the pod.
   */
  async #noteUse(pod: Pod, name: string): Promise<PendingClaim | undefined> {
    const { namespace, name: podName, uid: podUid } = pod.metadata;
    const key = `${namespace}/${name}`;
    const known = this.#claims.get(key);
    if (known?.podUids.has(podUid) === true && this.#prepared.has(known.uid)) return undefined;
    const claim = await this.#options.fetchClaim(namespace, name);
    const { uid } = claim.metadata;
    const mustOwn = (pod.spec.resourceClaims ?? [])
      .map((podClaim) => podClaimName(pod, podClaim))
      .some((each) => each.kind === 'named' && each.name === name && each.mustOwn);
    if (mustOwn && !isClaimForPod(pod, claim))
      throw failure(
        `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`,
      );
    if (!isReservedFor(claim, pod))
      throw failure(`pod ${podName} (${podUid}) is not allowed to use ResourceClaim ${name} (${uid})`);
    if (known !== undefined && known.uid !== uid)
      throw failure(
        `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
      );
    const results = claim.status?.allocation?.devices.results ?? [];
    const drivers = new Map<string, readonly PreparedDevice[]>(results.map(({ driver }) => [driver, []]));
    for (const [driver, devices] of known?.drivers ?? []) drivers.set(driver, devices);
    // This is checked before the use of the claim is recorded, so that a pod whose driver was never installed can be
    // deleted.
    for (const driver of drivers.keys()) this.#options.drivers.get(driver);
    const podUids = new Set([...(known?.podUids ?? []), podUid]);
    this.#claims.set(key, { uid, name, namespace, podUids, drivers });
    return { uid, name, namespace, drivers };
  }

  async #callPrepare(driver: string, claims: readonly PendingClaim[], signal: AbortSignal): Promise<void> {
    const asked = claims.map(({ uid, name, namespace }) => ({ uid, name, namespace }));
    const answer = await this.#options.drivers.get(driver).prepare(asked, signal);
    for (const { uid, name, drivers } of claims) {
      const result = answer.get(uid);
      if (result === undefined) continue;
      if (result.error !== '') throw failure(`NodePrepareResources failed for ResourceClaim ${name}: ${result.error}`);
      const sizeBytes = Buffer.byteLength(JSON.stringify(result.devices));
      if (sizeBytes > MAX_ANSWER_BYTES)
        throw failure(
          `NodePrepareResources answered with ${sizeBytes} bytes for ResourceClaim ${name}, at most ${MAX_ANSWER_BYTES} are kept`,
        );
      drivers.set(driver, result.devices);
    }
    const skipped = claims.filter(({ uid }) => !answer.has(uid)).length;
    if (skipped > 0) throw failure(`NodePrepareResources skipped ${skipped} ResourceClaims`);
  }

  /** Unprepares claims that no other pod uses. A claim is forgotten when all of its drivers have unprepared it. */
  async #unprepareClaims(keys: readonly string[], podUid: string, signal: AbortSignal): Promise<void> {
    const unused = new Map<string, ClaimInfo>();
    for (const key of keys) {
      const info = this.#claims.get(key);
      if (info === undefined || !info.podUids.has(podUid)) continue;
      const podUids = new Set([...info.podUids].filter((each) => each !== podUid));
      if (podUids.size > 0) this.#claims.set(key, { ...info, podUids });
      else unused.set(key, info);
    }
    const calls = new Map<string, ClaimInfo[]>();
    for (const info of unused.values())
      for (const driver of info.drivers.keys()) calls.set(driver, [...(calls.get(driver) ?? []), info]);
    const failed = new Set<string>();
    const problems: unknown[] = [];
    for (const [driver, claims] of calls) {
      const { failedUids, problem } = await this.#callUnprepare(driver, claims, signal);
      for (const uid of failedUids) failed.add(uid);
      if (problem !== undefined) problems.push(problem);
    }
    for (const [key, { uid }] of unused) {
      if (failed.has(uid)) continue;
      this.#prepared.delete(uid);
      this.#claims.delete(key);
    }
    await this.#save();
    if (problems.length > 0) throw problems[0];
  }

  /** Calls the drivers. Returns the claims that are not unprepared yet, and the first error. */
  async #callUnprepare(
    driver: string,
    claims: readonly ClaimInfo[],
    signal: AbortSignal,
  ): Promise<{ readonly failedUids: readonly string[]; readonly problem: unknown }> {
    try {
      const asked = claims.map(({ uid, name, namespace }) => ({ uid, name, namespace }));
      const answer = await this.#options.drivers.get(driver).unprepare(asked, signal);
      const skipped = claims.filter(({ uid }) => !answer.has(uid));
      const refused = claims.filter(({ uid }) => (answer.get(uid) ?? '') !== '');
      const [first] = refused;
      const problem =
        first !== undefined
          ? failure(`NodeUnprepareResources failed for ResourceClaim ${first.name}: ${answer.get(first.uid)}`)
          : skipped.length > 0
            ? failure(`NodeUnprepareResources skipped ${skipped.length} ResourceClaims`)
            : undefined;
      return { failedUids: [...skipped, ...refused].map(({ uid }) => uid), problem };
    } catch (error) {
      return { failedUids: claims.map(({ uid }) => uid), problem: error };
    }
  }

  async #observed(name: DraOperation['name'], work: () => Promise<void>): Promise<void> {
    const { clock, onOperation } = this.#options;
    const startMs = clock.monotonicMs();
    let isError = true;
    try {
      await work();
      isError = false;
    } finally {
      onOperation?.({ name, isError, durationMs: clock.monotonicMs() - startMs });
    }
  }

  /**
   * Runs one operation at a time for each claim. All keys are locked in one step, so that no two operations wait for
   * each other.
   */
  async #exclusively(keys: readonly string[], work: () => Promise<void>): Promise<void> {
    const before = keys.map((key) => (this.#busy.get(key) ?? Promise.resolve()).catch(() => undefined));
    const mine = Promise.all(before).then(work);
    for (const key of keys) this.#busy.set(key, mine);
    try {
      await mine;
    } finally {
      for (const key of keys) if (this.#busy.get(key) === mine) this.#busy.delete(key);
    }
  }

  /** Writes the checkpoint. Writes run one after another, and each contains all changes made before it begins. */
  async #save(): Promise<void> {
    const { files, path } = this.#options;
    const write = (): Promise<void> => files.writeFileAtomic(path, encodeClaims(this.#claims.values()), MODE);
    const mine = this.#writing.catch(() => undefined).then(write);
    this.#writing = mine;
    await mine;
  }
}

/** A claim that a pod is about to use. `drivers` is filled with what each driver has prepared. */
interface PendingClaim extends DraClaim {
  readonly drivers: Map<string, readonly PreparedDevice[]>;
}

const keyOf = ({ namespace, name }: ClaimInfo): string => `${namespace}/${name}`;
const failure = (message: string): KubeletError => new KubeletError('Unavailable', message, { op: 'prepare claims' });
