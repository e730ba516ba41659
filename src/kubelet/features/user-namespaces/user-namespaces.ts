import type { Pod } from '../../../api/core/pod.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Processes } from '../../ports/processes.ts';
import type { NamespaceOptions } from '../../ports/runtime.ts';
import type { IdPool, IdRange } from './id-pool.ts';
import { computeIdPool, defaultIds, isPieceOf, overlap, selectRange } from './id-pool.ts';
import { encodeMappings, MAPPINGS_FILE_NAME, parseMappings } from './mappings-file.ts';
import { assignedIds } from './sub-ids.ts';

export interface UserNamespacesOptions {
  readonly rootDir: string;
  readonly idsPerPod: number;
  readonly maxPods: number;
  readonly files: HostFiles;
  readonly processes: Processes;
  readonly random: Random;
  readonly log: Logger;
  /** Returns the runtime's handlers, by name; empty if the runtime does not report them. */
  readonly handlers: () => ReadonlyMap<string, { userNamespaces: boolean }>;
  /** Returns the running pods, as far as they are known. */
  readonly runtimePods: () => Iterable<PodRuntimeStatus>;
}

/**
 * Allocates host ids for each pod with `hostUsers: false` (upstream: pkg/kubelet/userns). Invariants:
 * 1. The ids of two pods never overlap.
 * 2. The ids are on disk before a sandbox is created with them. They stay the same for its lifetime, across restarts of
 *    the agent.
 * 3. A running sandbox determines the ids of its pod, so a lost or damaged file has no effect (upstream does not start
 *    then).
 */
export class UserNamespaces {
  readonly #options: UserNamespacesOptions;
  readonly #held = new Map<PodUid, IdRange>();
  readonly #pending = new Map<PodUid, Promise<IdRange>>();
  #pool: IdPool | undefined;

  constructor(options: UserNamespacesOptions) {
    this.#options = options;
  }

  /**
   * Prepares the pool. It must be called before the first sync. Rejects with `Invalid` if the ids assigned to this node
   * are invalid. After a disk failure it is retried when a pod needs ids.
   */
  async start(): Promise<void> {
    try {
      await this.#prepare();
    } catch (error) {
      if (isKind(error, 'Invalid')) throw error;
      this.#options.log.warn('the ids available for pods could not be determined yet', { error: errorMessage(error) });
    }
  }

  /** Returns the pool when the used ids are known. */
  async #prepare(): Promise<IdPool> {
    if (this.#pool !== undefined) return this.#pool;
    const { idsPerPod, maxPods, files, rootDir } = this.#options;
    const pool = computeIdPool({
      idsPerPod,
      maxPods,
      ids: (await assignedIds(this.#options)) ?? defaultIds(idsPerPod),
    });
    const uids = (await files.list(`${rootDir}/pods`)).map(podUid);
    await Promise.all(uids.map(async (uid) => this.#hold(uid, this.#held.get(uid) ?? (await this.#read(uid)))));
    this.#pool = pool;
    return pool;
  }

  /**
   * Returns CRI's user namespace of the pod. Rejects with a message for users: `Invalid` if the handler does not
   * support it, and `Unavailable` if there are no ids left.
   */
  async ensure(pod: Pod, runtimeHandler: string): Promise<NonNullable<NamespaceOptions['userns']>> {
    if (pod.spec.hostUsers !== false) return { mode: 'node' };
    this.#checkHandler(runtimeHandler);
    const uid = podUid(pod.metadata.uid);
    // Validation forbids this too. With a path as the UID, the agent would write outside the folder of pods.
    if (/^\.{0,2}$|[/\0]/.test(uid))
      throw new KubeletError('Invalid', `pod uid ${JSON.stringify(uid)} cannot be used as a file name`, {
        op: 'user namespace',
      });
    let pending = this.#pending.get(uid);
    if (pending === undefined) {
      pending = this.#ensure(uid).finally(() => this.#pending.delete(uid));
      this.#pending.set(uid, pending);
    }
    return { mode: 'pod', ...(await pending) };
  }

  /** Releases the ids of a pod of which nothing runs any more. */
  async release(uid: PodUid): Promise<void> {
    if (!this.#held.delete(uid)) return;
    await this.#options.files.remove(this.#path(uid));
  }

  async cleanupOrphans(known: Pick<ReadonlySet<PodUid>, 'has'>): Promise<void> {
    const orphans = [...this.#held.keys()].filter((uid) => !known.has(uid) && this.#running(uid) === undefined);
    await Promise.all(orphans.map((uid) => this.release(uid)));
  }

  #checkHandler(name: string): void {
    const handlers = this.#options.handlers();
    const handler = handlers.get(name);
    if (handler?.userNamespaces === true) return;
    const who = name === '' ? 'runtime' : `RuntimeClass handler ${JSON.stringify(name)}`;
    const unknown =
      handlers.size > 0 && handler === undefined ? `: the handler ${JSON.stringify(name)} is not known` : '';
    throw new KubeletError(
      'Invalid',
      `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces${unknown}`,
      { op: 'user namespace' },
    );
  }

  async #ensure(uid: PodUid): Promise<IdRange> {
    const pool = await this.#prepare();
    const held = this.#held.get(uid);
    const wanted = this.#running(uid) ?? this.#usable(pool, uid, held ?? (await this.#read(uid)));
    if (wanted !== undefined && held !== undefined && same(held, wanted)) return held;
    const range = wanted ?? this.#select(pool, uid);
    this.#hold(uid, range);
    try {
      const { files, rootDir } = this.#options;
      await files.makeDirectory(`${rootDir}/pods/${uid}`, 0o750);
      await files.writeFileAtomic(this.#path(uid), encodeMappings(range), 0o600);
      return range;
    } catch (error) {
      if (wanted === undefined) this.#held.delete(uid);
      throw new KubeletError('Unavailable', `create user namespace: ${errorMessage(error)}`, {
        op: 'user namespace',
        cause: error,
      });
    }
  }

  /**
   * Returns the content of a file if it applies to the pod. The file may be from an agent with other settings, or be a
   * copy.
   */
  #usable(pool: IdPool, uid: PodUid, range: IdRange | undefined): IdRange | undefined {
    if (range === undefined || !isPieceOf(pool, range)) return undefined;
    return this.#taken(uid).some((other) => overlap(range, other)) ? undefined : range;
  }

  #select(pool: IdPool, uid: PodUid): IdRange {
    const range = selectRange(pool, this.#taken(uid), this.#options.random.next());
    if (range === undefined)
      throw new KubeletError(
        'Unavailable',
        'create user namespace: could not find an empty slot to allocate a user namespace',
        { op: 'user namespace' },
      );
    return range;
  }

  /** Returns the used ids, including those of running pods without a file. */
  #taken(except: PodUid): IdRange[] {
    const held = [...this.#held].filter(([uid]) => uid !== except).map(([, range]) => range);
    const running = [...this.#options.runtimePods()].filter(({ uid }) => uid !== except).flatMap(rangesOf);
    return [...held, ...running];
  }

  #running(uid: PodUid): IdRange | undefined {
    for (const pod of this.#options.runtimePods()) if (pod.uid === uid) return rangesOf(pod)[0];
    return undefined;
  }

  #hold(uid: PodUid, range: IdRange | undefined): void {
    if (range !== undefined) this.#held.set(uid, range);
  }

  async #read(uid: PodUid): Promise<IdRange | undefined> {
    const { files, log } = this.#options;
    try {
      const text = await files.readText(this.#path(uid), 64 * 1024);
      return text === '' ? undefined : parseMappings(text);
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.warn('the record of the user namespace of a pod cannot be used; the running pod is used instead', {
          podUID: uid,
          error: errorMessage(error),
        });
      return undefined;
    }
  }

  #path(uid: PodUid): string {
    return `${this.#options.rootDir}/pods/${uid}/${MAPPINGS_FILE_NAME}`;
  }
}

function rangesOf(pod: PodRuntimeStatus): IdRange[] {
  return pod.sandboxes.filter(({ ready }) => ready).flatMap(({ userns }) => userns ?? []);
}

function same(left: IdRange, right: IdRange): boolean {
  return left.hostId === right.hostId && left.length === right.length;
}
