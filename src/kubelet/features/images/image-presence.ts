import { untilAborted } from '../../../base/until-aborted.ts';
import type { Image, ImageRuntime } from '../../ports/images.ts';

/** Asks the runtime about images; those who ask about the same one at the same time get one answer. Nothing is remembered beyond that. */
export class ImagePresence {
  readonly #runtime: Pick<ImageRuntime, 'imageStatus'>;
  readonly #asking = new Map<string, Promise<Image | undefined>>();

  constructor(runtime: Pick<ImageRuntime, 'imageStatus'>) {
    this.#runtime = runtime;
  }

  /** undefined when the image is not there. Rejects with `Aborted` when `signal` does; the question goes on for the others. */
  find(image: string, runtimeHandler: string, signal: AbortSignal): Promise<Image | undefined> {
    const key = `${runtimeHandler}\n${image}`;
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      asking = this.#runtime.imageStatus(image, runtimeHandler).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return untilAborted(asking, signal);
  }
}
