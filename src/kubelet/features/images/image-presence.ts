import { untilAborted } from '../../../base/until-aborted.ts';
import type { Image, ImageRuntime } from '../../ports/images.ts';

/** Queries the runtime for images. Concurrent queries for the same image share one answer. Answers are not cached. */
export class ImagePresence {
  readonly #runtime: Pick<ImageRuntime, 'imageStatus'>;
  readonly #asking = new Map<string, Promise<Image | undefined>>();

  constructor(runtime: Pick<ImageRuntime, 'imageStatus'>) {
    this.#runtime = runtime;
  }

  /**
   * Returns the image, or undefined if it is not present. Rejects with `Aborted` when `signal` aborts; the query
   * continues for other callers.
   */
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
