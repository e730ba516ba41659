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

  async ensure(signal?: AbortSignal): Promise<void> {
    try {
      await this.#engine.inspectImage(this.name, { signal });
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      await this.#images.pull(this.name, undefined, signal);
    }
  }
}
