import { formatDurationMs } from '../../../api/duration.ts';
import { goAggregate } from '../../../api/go-aggregate.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { inSpan } from '../../../base/tracer.ts';
import type { Tracer } from '../../../base/tracer.ts';
import type { ImageGcReport } from '../../model/image-gc-report.ts';
import type { Image, ImageRuntime } from '../../ports/images.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import type { DiskConsumer } from './disk-report.ts';
import { describeDiskUse } from './disk-report.ts';
import type { ImageGcPolicy, ImageRecord } from './gc-select.ts';
import {
  computeNeed,
  isPinned,
  isSandboxImage,
  selectCandidates,
  selectOld,
  selectRipe,
  updateRecords,
} from './gc-select.ts';
import { computeGcPreview } from './preview-gc.ts';
import type { ImageLeases } from './image-leases.ts';
import type { DiskUsage, NodeEvents } from './interfaces.ts';
import type { PullAccess } from './pull-access.ts';

/** The interval of passes (upstream: ImageGCPeriod). */
const IMAGE_GC_PERIOD_MS = 5 * 60_000;

export interface ImageGcParts {
  readonly images: Pick<ImageRuntime, 'listImages' | 'removeImage' | 'imageFsInfo'>;
  readonly containers: Pick<ContainerRuntime, 'listContainers'>;
  readonly disk: DiskUsage;
  readonly policy: ImageGcPolicy;
  readonly leases: ImageLeases;
  readonly access: PullAccess;
  readonly events: NodeEvents;
  readonly platform: { clock: Clock; random: Random; log: Logger };
  /** The known images from which the runtime creates sandboxes. */
  readonly sandboxImages?: readonly string[];
  /** Prefixes of the names of images that always stay, because no registry has them. */
  readonly pinnedPrefixes?: readonly string[];
  /** Returns the images that pods mount as volumes, because no container names them. */
  readonly mountedImages?: () => Iterable<string>;
  /**
   * Called for each removed image with the reason. As in upstream's metric, images removed for eviction count as
   * removed for space.
   */
  readonly onRemoved?: (reason: 'age' | 'space') => void;
  readonly tracer?: Tracer | undefined;
}

/** The trace span of a pass (upstream: image_gc_manager.go GarbageCollect). */
const gcSpan = { name: 'Images/GarbageCollect', scope: 'k8s.io/kubernetes/pkg/kubelet/images' };

interface Survey {
  readonly candidates: ImageRecord[];
  readonly inUse: readonly Image[];
}

/**
 * Removes unused images when their disk gets full or when they are old (upstream: images/image_gc_manager.go). It never
 * removes an image that is pinned, leased, of sandboxes, or used by a container, including dead ones. A pass makes
 * three calls while there is enough space.
 */
export class ImageGc {
  readonly #parts: ImageGcParts;
  readonly #loop: Loop;
  readonly #startedMs: number;
  #records = new Map<string, ImageRecord>();
  #images: readonly Image[] = [];
  #mountpoint: string | undefined;
  #failures = 0;
  #consumers: () => Promise<readonly DiskConsumer[]> = () => Promise.resolve([]);
  #lastErrorMessage = '';
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: ImageGcParts) {
    this.#parts = parts;
    this.#startedMs = parts.platform.clock.monotonicMs();
    this.#loop = createLoop({
      name: 'image-gc',
      ...parts.platform,
      periodMs: IMAGE_GC_PERIOD_MS,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /**
   * Sets the function that returns other data on the file system of images. It is called only if removing images does
   * not free enough.
   */
  nameConsumersBy(consumers: () => Promise<readonly DiskConsumer[]>): void {
    this.#consumers = consumers;
  }

  /** The node's images at the last pass. */
  get images(): readonly Image[] {
    return this.#images;
  }

  /**
   * Runs one pass: removes old images, and then, above the high mark, images until the low mark. Rejects if that mark
   * was not reached or an image could not be removed.
   */
  collect(): Promise<void> {
    return this.#exclusive(() => inSpan(this.#parts.tracer, gcSpan, () => this.#collect()));
  }

  /**
   * Removes all removable images regardless of their age, for eviction. Returns the size of the removed images in
   * bytes.
   */
  deleteUnused(): Promise<number> {
    return this.#exclusive(async () => {
      const beganMs = this.#parts.platform.clock.nowMs();
      const { candidates } = await this.#survey();
      const { freedBytes, errors } = await this.#remove(candidates, Number.POSITIVE_INFINITY, 'eviction');
      await this.#prune(beganMs);
      if (errors.length > 0)
        throw new KubeletError('Unavailable', `images could not be removed: ${errors.join('; ')}`, { op: 'image gc' });
      return freedBytes;
    });
  }

  /** Returns what `deleteUnused` would remove now. */
  async countUnused(): Promise<{ images: number; imageBytes: number }> {
    const { candidates } = await this.#survey();
    return {
      images: candidates.length,
      imageBytes: candidates.reduce((sum, { image }) => sum + image.sizeBytes, 0),
    };
  }

  /** Returns what a pass would do now, without doing it. */
  preview(): Promise<ImageGcReport> {
    return this.#exclusive(() => this.#preview());
  }

  async #preview(): Promise<ImageGcReport> {
    const { policy, platform, disk, pinnedPrefixes = [] } = this.#parts;
    const { candidates, inUse } = await this.#survey();
    const mountpoint = await this.#imageFs();
    const usage = await disk.diskUsage(mountpoint);
    const whyKept = (image: Image): string =>
      isPinned(image, pinnedPrefixes) ? 'pinned' : isSandboxImage(image) ? 'image of sandboxes' : 'in use';
    return computeGcPreview({
      mountpoint,
      usage,
      policy,
      candidates,
      kept: inUse.map((image) => ({ image, why: whyKept(image) })),
      nowMs: platform.clock.monotonicMs(),
      startedMs: this.#startedMs,
    });
  }

  async #pass(): Promise<void> {
    const { policy, platform, events } = this.#parts;
    // As upstream, these two settings turn image collection off, including its check.
    if (policy.highPercent === 100 && policy.maxAgeMs === 0) return;
    try {
      await this.collect();
      if (this.#failures > 0) platform.log.info('image garbage collection succeeds again');
      this.#failures = 0;
      this.#lastErrorMessage = '';
    } catch (error) {
      this.#failures++;
      const message = errorMessage(error);
      if (message === this.#lastErrorMessage) return;
      platform.log.error('image garbage collection failed', { error: message, times: this.#failures });
      if (this.#failures > 1) events.nodeEvent('Warning', nodeEvents.imageGCFailed, message);
      this.#lastErrorMessage = message;
    }
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#running.then(work, work);
    this.#running = next.catch((error: unknown) => error);
    return next;
  }

  async #collect(): Promise<void> {
    const { policy, platform, disk } = this.#parts;
    const beganMs = platform.clock.nowMs();
    const { candidates, inUse } = await this.#survey();
    // The time is read after the images, so that a new image does not have a negative age.
    const nowMs = platform.clock.monotonicMs();
    const old = selectOld(candidates, policy, nowMs, this.#startedMs);
    const aged = await this.#remove(old, Number.POSITIVE_INFINITY, 'age');
    const mountpoint = await this.#imageFs();
    const usage = await disk.diskUsage(mountpoint);
    if (usage.capacityBytes === 0) {
      this.#parts.events.nodeEvent('Warning', nodeEvents.invalidDiskCapacity, 'invalid capacity 0 on image filesystem');
      throw new KubeletError('Unavailable', 'invalid capacity 0 on image filesystem', { op: 'image gc' });
    }
    const { bytesToFree, usedPercent } = computeNeed(usage, policy);
    const ripe = selectRipe(
      candidates.filter((candidate) => !old.includes(candidate)),
      policy,
      nowMs,
    );
    const freed = bytesToFree > 0 ? await this.#remove(ripe, bytesToFree, 'space') : { freedBytes: 0, errors: [] };
    if (old.length > 0 || bytesToFree > 0) await this.#prune(beganMs);
    const problems = [
      ...(aged.errors.length === 0
        ? []
        : [
            `wanted to free images older than ${formatDurationMs(policy.maxAgeMs)}, encountered errors in image deletion: ${goAggregate(aged.errors)}`,
          ]),
      ...(freed.errors.length === 0
        ? []
        : [
            `wanted to free ${bytesToFree} bytes, but freed ${freed.freedBytes} bytes space with errors in image deletion: ${goAggregate(freed.errors)}`,
          ]),
    ];
    if (problems.length > 0) throw new KubeletError('Unavailable', problems.join('; '), { op: 'image gc' });
    if (freed.freedBytes < bytesToFree)
      await this.#complain({ mountpoint, usedPercent, usage, freedBytes: freed.freedBytes, inUse });
  }

  /** Reports the message as a node event and throws it. */
  async #complain(facts: {
    mountpoint: string;
    usedPercent: number;
    usage: { capacityBytes: number; availableBytes: number };
    freedBytes: number;
    inUse: readonly Image[];
  }): Promise<never> {
    const { images, events, platform } = this.#parts;
    const known = await this.#consumers().catch((error: unknown) => {
      platform.log.warn('could not determine what uses the disk', { error: errorMessage(error) });
      return [];
    });
    const { capacityBytes, availableBytes } = facts.usage;
    const imagesInUse = facts.inUse.map((image) => ({ name: nameOf(image), bytes: image.sizeBytes }));
    const countedBytes = (await images.imageFsInfo()).reduce((sum, { usedBytes }) => sum + usedBytes, 0);
    // Containerd measures every 10 s and reports 0 before the first measurement.
    const runtimeBytes = Math.max(
      countedBytes,
      imagesInUse.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    const message = describeDiskUse({
      ...facts,
      capacityBytes,
      usedBytes: capacityBytes - availableBytes,
      runtimeBytes,
      imagesInUse,
      consumers: known,
    });
    if (message !== this.#lastErrorMessage) events.nodeEvent('Warning', nodeEvents.freeDiskSpaceFailed, message);
    throw new KubeletError('Unavailable', message, { op: 'image gc' });
  }

  async #survey(): Promise<Survey> {
    const {
      images,
      containers,
      leases,
      sandboxImages = [],
      pinnedPrefixes = [],
      mountedImages,
      platform,
    } = this.#parts;
    // Containers are listed after images, so that an image whose container is created in between counts as used.
    const present = await images.listImages();
    const inUse = new Set<string>(mountedImages?.() ?? []);
    for (const { imageId, imageRef } of await containers.listContainers()) inUse.add(imageId).add(imageRef);
    this.#images = present;
    this.#records = updateRecords(this.#records, present, inUse, platform.clock.monotonicMs());
    const candidates = selectCandidates(this.#records, {
      inUse,
      leased: leases.leased(),
      sandboxImages,
      pinnedPrefixes,
    });
    const free = new Set(candidates.map(({ image }) => image.id));
    return { candidates, inUse: present.filter(({ id }) => !free.has(id)) };
  }

  async #remove(
    victims: readonly ImageRecord[],
    enoughBytes: number,
    reason: 'age' | 'space' | 'eviction',
  ): Promise<{ freedBytes: number; errors: string[] }> {
    const { images, leases, platform, onRemoved } = this.#parts;
    const errors: string[] = [];
    let freedBytes = 0;
    for (const { image } of victims) {
      if (freedBytes >= enoughBytes) break;
      // A removal takes time, so a pod may have leased the next image meanwhile.
      const leased = leases.leased();
      if ([image.id, ...image.repoTags, ...image.repoDigests].some((name) => leased.has(name))) continue;
      try {
        await images.removeImage(image.id);
        platform.log.info('removed image', {
          image: nameOf(image),
          imageId: image.id,
          sizeBytes: image.sizeBytes,
          reason,
        });
        onRemoved?.(reason === 'age' ? 'age' : 'space');
        freedBytes += image.sizeBytes;
        this.#records.delete(image.id);
        this.#images = this.#images.filter(({ id }) => id !== image.id);
      } catch (error) {
        errors.push(`${nameOf(image)}: ${errorMessage(error)}`);
      }
    }
    return { freedBytes, errors };
  }

  #prune(beganMs: number): Promise<void> {
    return this.#parts.access.prune(new Set(this.#images.map(({ id }) => id)), beganMs);
  }

  async #imageFs(): Promise<string> {
    if (this.#mountpoint === undefined) {
      const [first] = await this.#parts.images.imageFsInfo();
      if (first === undefined || first.mountpoint === '')
        throw new KubeletError('Unavailable', 'the runtime does not report where it keeps images', {
          op: 'ImageFsInfo',
        });
      this.#mountpoint = first.mountpoint;
    }
    return this.#mountpoint;
  }
}

function nameOf(image: Image): string {
  return image.repoTags[0] ?? image.repoDigests[0] ?? image.id;
}
