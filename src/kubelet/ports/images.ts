import type { CallOptions, SandboxConfig } from './runtime.ts';

export interface Image {
  /** The runtime's own id, as in ContainerRuntimeStatus.imageId. */
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  /** The image's default user, a numeric UID or a name, for runAsNonRoot. */
  uid?: number;
  readonly username: string;
  readonly pinned: boolean;
}

export interface RegistryAuth {
  readonly username: string;
  readonly password: string;
  readonly auth: string;
  readonly serverAddress: string;
  readonly identityToken: string;
  readonly registryToken: string;
}

export interface ImageFsUsage {
  readonly mountpoint: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface ImageRuntime {
  listImages(options?: CallOptions): Promise<Image[]>;
  /** Returns the image; undefined if it is not present. */
  imageStatus(image: string, runtimeHandler: string, options?: CallOptions): Promise<Image | undefined>;
  /** Resolves to the reference of the pulled image. It has no deadline. */
  pullImage(
    image: string,
    pull: { auth?: RegistryAuth; runtimeHandler: string; sandbox?: SandboxConfig },
    options?: CallOptions,
  ): Promise<string>;
  removeImage(image: string, options?: CallOptions): Promise<void>;
  imageFsInfo(options?: CallOptions): Promise<ImageFsUsage[]>;
}
