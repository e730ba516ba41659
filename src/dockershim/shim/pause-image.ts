import { isKind } from '../../base/errors.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { Images } from './images.ts';

/** The image of sandboxes: pulled once, when it is missing. */
export class PauseImage {
  readonly name: string;
  readonly #engine: DockerEngine;
  readonly #images: Pick<Images, 'pull'>;

  constructor(name: string, engine: DockerEngine, images: Pick<Images, 'pull'>) {
    this.name = name;
    this.#engine = engine;
    this.#images = images;
  }

  /** Creates a sandbox. When Docker does not have the image, it is pulled, and `create` is called again. */
  async whenPresent<T>(create: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await create();
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      if (!(await this.#isMissing(signal))) throw error;
      await this.#images.pull(this.name, undefined, signal);
      return create();
    }
  }

  async #isMissing(signal?: AbortSignal): Promise<boolean> {
    try {
      await this.#engine.inspectImage(this.name, { signal });
      return false;
    } catch (error) {
      if (isKind(error, 'NotFound')) return true;
      throw error;
    }
  }
}
