import type { ImageRuntime } from '../../ports/images.ts';

/** Notifies of images that the agent added or removed. It is created before the image runtime is used. */
export class ImageChanges {
  readonly #listeners = new Set<() => void>();

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Wraps the image runtime, and reports each successful pull and removal. */
  followed(images: ImageRuntime): ImageRuntime {
    const after = async <T>(work: Promise<T>): Promise<T> => {
      const result = await work;
      for (const listener of this.#listeners) listener();
      return result;
    };
    return {
      listImages: (options) => images.listImages(options),
      imageStatus: (image, handler, options) => images.imageStatus(image, handler, options),
      pullImage: (image, pull, options) => after(images.pullImage(image, pull, options)),
      removeImage: (image, options) => after(images.removeImage(image, options)),
      imageFsInfo: (options) => images.imageFsInfo(options),
    };
  }
}
