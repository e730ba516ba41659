import type { ContainerImage } from '../../../api/core/node.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { sameContent } from '../../../base/same-content.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import { selectNodeImages } from './node-images.ts';

/** The interval of reading images (upstream: image manager, every 30 s). The runtime's version is valid for 60 s. */
const IMAGES_PERIOD_MS = 30_000;
const VERSION_FRESH_MS = 60_000;
const ANSWER_LIMIT_MS = 20_000;

export interface NodeInventoryOptions {
  readonly runtime: Pick<ContainerRuntime, 'version'>;
  readonly images: Pick<ImageRuntime, 'listImages'>;
  /** The maximum number of reported images; -1 means all. */
  readonly maxImages: number;
  /** Called when the inventory changed. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Reads the part of the node's status that comes from the runtime. It is read separately from the status, so that a
 * runtime that hangs does not delay the status. Values that cannot be read keep their last state.
 */
export class NodeInventory {
  readonly #options: NodeInventoryOptions;
  readonly #loop: Loop;
  #version: { text: string; atMs: number } | undefined;
  #images: readonly ContainerImage[] | undefined;
  #lastError = '';

  constructor(options: NodeInventoryOptions) {
    this.#options = options;
    this.#loop = createLoop({
      ...options,
      name: 'node inventory',
      periodMs: IMAGES_PERIOD_MS,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Reads the runtime again after its availability changed, because it may be another one now. */
  runtimeChanged(): void {
    this.#version = this.#version === undefined ? undefined : { ...this.#version, atMs: -Infinity };
    this.#loop.wake();
  }

  /** Reads the images again after a pull or a removal. */
  imagesChanged(): void {
    this.#loop.wake();
  }

  /** The version of the runtime; undefined before its first answer. */
  get runtimeVersion(): string | undefined {
    return this.#version?.text;
  }

  get images(): readonly ContainerImage[] | undefined {
    return this.#images;
  }

  async #pass(): Promise<void> {
    const before = { version: this.#version?.text, images: this.#images };
    const failures = [
      await this.#attempt(() => this.#askVersion()),
      await this.#attempt(() => this.#listImages()),
    ].filter((each) => each !== undefined);
    const text = failures.join('; ');
    if (text !== '' && text !== this.#lastError)
      this.#options.log.warn(
        'the runtime does not answer for the status of the node; that part of the status does not change',
        { error: text },
      );
    this.#lastError = text;
    if (before.version !== this.#version?.text || !sameContent(before.images, this.#images)) this.#options.onChange();
  }

  async #attempt(ask: () => Promise<void>): Promise<string | undefined> {
    try {
      await ask();
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  async #askVersion(): Promise<void> {
    const { runtime, clock } = this.#options;
    if (this.#version !== undefined && clock.monotonicMs() - this.#version.atMs < VERSION_FRESH_MS) return;
    const { name, version } = await runtime.version({ timeoutMs: ANSWER_LIMIT_MS });
    this.#version = { text: `${name}://${version}`, atMs: clock.monotonicMs() };
  }

  async #listImages(): Promise<void> {
    const { images, maxImages } = this.#options;
    this.#images =
      maxImages === 0 ? [] : selectNodeImages(await images.listImages({ timeoutMs: ANSWER_LIMIT_MS }), maxImages);
  }
}
