import type { ImageServiceApi } from '../../../cri/cri-api.ts';
import type { Image, ImageFsUsage, ImageRuntime, RegistryAuth } from '../../ports/images.ts';
import type { CallOptions, SandboxConfig } from '../../ports/runtime.ts';
import { classified } from './cri-failures.ts';
import { clampedNumber, imageFromCri } from './cri-mapping-read.ts';
import { toSandboxConfig } from './cri-mapping-write.ts';

/** Manages images over CRI v1. */
export class CriImages implements ImageRuntime {
  readonly #api: ImageServiceApi;

  constructor(api: ImageServiceApi) {
    this.#api = api;
  }

  async listImages(options?: CallOptions): Promise<Image[]> {
    const { images } = await classified('ListImages', this.#api.listImages({}, options));
    return images.map(imageFromCri);
  }

  async imageStatus(image: string, runtimeHandler: string, options?: CallOptions): Promise<Image | undefined> {
    const answer = await classified(
      'ImageStatus',
      this.#api.imageStatus({ image: { image, runtimeHandler } }, options),
    );
    return answer.image === undefined ? undefined : imageFromCri(answer.image);
  }

  async pullImage(
    image: string,
    pull: { auth?: RegistryAuth; runtimeHandler: string; sandbox?: SandboxConfig },
    options?: CallOptions,
  ): Promise<string> {
    const request = {
      image: { image, runtimeHandler: pull.runtimeHandler },
      auth: pull.auth,
      sandboxConfig: pull.sandbox === undefined ? undefined : toSandboxConfig(pull.sandbox),
    };
    return (await classified('PullImage', this.#api.pullImage(request, options))).imageRef;
  }

  async removeImage(image: string, options?: CallOptions): Promise<void> {
    await classified('RemoveImage', this.#api.removeImage({ image: { image } }, options));
  }

  async imageFsInfo(options?: CallOptions): Promise<ImageFsUsage[]> {
    const { imageFilesystems } = await classified('ImageFsInfo', this.#api.imageFsInfo({}, options));
    return imageFilesystems.map((filesystem) => ({
      mountpoint: filesystem.fsId?.mountpoint ?? '',
      usedBytes: clampedNumber(filesystem.usedBytes?.value ?? 0n),
      inodesUsed: clampedNumber(filesystem.inodesUsed?.value ?? 0n),
    }));
  }
}
