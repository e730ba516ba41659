import { dirname } from 'node:path/posix';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { sameRequirements } from '../../../api/pod-allocation.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint-format.ts';

export interface ResourceCheckpointOptions {
  readonly path: string;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Starts of many pods share one write; a resize is written at once. */
const COALESCE_MS = 100;
const RETRY_MS = 2000;
const LIMIT_BYTES = 16 * 1024 * 1024;

/**
 * Resources of all pods of the node, kept in one of upstream's checkpoint files.
 * 1. The state in memory is authoritative; the file follows soon, at the latest when `flush` resolves.
 * 2. A file that cannot be trusted is set aside with the suffix `.corrupt`; its content is rebuilt from specs and the
 *    runtime.
 * 3. A failed write is logged once and retried: no pod waits for it.
 */
export class ResourceCheckpoint {
  readonly #options: ResourceCheckpointOptions;
  readonly #pods: Map<string, PodAllocation>;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #written = '';
  #failed = false;

  constructor(options: ResourceCheckpointOptions, pods: ReadonlyMap<string, PodAllocation> = new Map()) {
    this.#options = options;
    this.#pods = new Map(pods);
  }

  static async open(options: ResourceCheckpointOptions): Promise<ResourceCheckpoint> {
    return new ResourceCheckpoint(options, await load(options));
  }

  get(uid: PodUid): PodAllocation | undefined {
    return this.#pods.get(uid);
  }

  set(uid: PodUid, allocation: PodAllocation): void {
    this.#pods.set(uid, allocation);
    this.#saveWithin(COALESCE_MS);
  }

  container(uid: PodUid, name: string): ResourceRequirements | undefined {
    const { containers } = this.#pods.get(uid) ?? { containers: {} };
    return Object.hasOwn(containers, name) ? containers[name] : undefined;
  }

  podLevel(uid: PodUid): ResourceRequirements | undefined {
    return this.#pods.get(uid)?.pod;
  }

  /** Returns whether the record changed. */
  setContainer(uid: PodUid, name: string, resources: ResourceRequirements): boolean {
    const known = this.#pods.get(uid);
    const before = this.container(uid, name);
    if (before !== undefined && sameRequirements(before, resources)) return false;
    this.set(uid, { ...known, containers: { ...known?.containers, [name]: resources } });
    return true;
  }

  setPodLevel(uid: PodUid, resources: ResourceRequirements): void {
    const known = this.#pods.get(uid);
    if (known?.pod !== undefined && sameRequirements(known.pod, resources)) return;
    this.set(uid, { containers: {}, ...known, pod: resources });
  }

  /**
   * Not worth a write of its own: it is part of the next one, and entries without a pod are dropped once all sources
   * have reported (`retain`).
   */
  remove(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  retain(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of [...this.#pods.keys()]) if (!known.has(uid as PodUid)) this.#pods.delete(uid);
  }

  /** Resolves when the newest state is on disk, or could not be written. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  #saveWithin(waitMs: number): void {
    this.#timer ??= this.#options.clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    });
  }

  async #write(): Promise<void> {
    const { path, files, log } = this.#options;
    const text = encodeCheckpoint(this.#pods);
    if (text === this.#written) return;
    try {
      await files.writeFileAtomic(path, text, 0o600, { survivesPowerCut: false });
      this.#written = text;
      this.#failed = false;
    } catch (error) {
      if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o750).catch(() => undefined);
      if (!this.#failed)
        log.error('resources of pods cannot be saved; a restart of the agent would have to rebuild them', {
          path,
          error: errorMessage(error),
        });
      this.#failed = true;
      this.#saveWithin(RETRY_MS);
    }
  }
}

async function load({ path, files, log }: ResourceCheckpointOptions): Promise<ReadonlyMap<string, PodAllocation>> {
  let text: string;
  try {
    text = await files.readText(path, LIMIT_BYTES);
  } catch (error) {
    if (!isKind(error, 'NotFound'))
      log.error('resources of pods cannot be read, continuing without them', { path, error: errorMessage(error) });
    return new Map();
  }
  const pods = decodeCheckpoint(text);
  if (pods !== undefined) return pods;
  const aside = `${path}.corrupt`;
  log.error(
    'a resource checkpoint is corrupt; it was set aside and its content is rebuilt from specs and the runtime',
    { path, movedTo: aside },
  );
  await files
    .rename(path, aside)
    .catch((error: unknown) =>
      log.error('a corrupt checkpoint could not be set aside', { path, error: errorMessage(error) }),
    );
  return new Map();
}
