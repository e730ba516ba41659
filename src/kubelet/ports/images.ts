import type { CallOptions, SandboxConfig } from './runtime.ts';

export interface Image {
  /** Runtime-local id, as in ContainerRuntimeStatus.imageId. */
  id: string;
  repoTags: readonly string[];
  repoDigests: readonly string[];
  sizeBytes: number;
  /** The image's default user: numeric uid or a name, for runAsNonRoot. */
  uid?: number;
  username: string;
  pinned: boolean;
}

export interface RegistryAuth {
  username: string;
  password: string;
  auth: string;
  serverAddress: string;
  identityToken: string;
  registryToken: string;
}

export interface ImageFsUsage {
  mountpoint: string;
  usedBytes: number;
  inodesUsed: number;
}

export interface ImageRuntime {
  listImages(options?: CallOptions): Promise<Image[]>;
  /** undefined when the image is not present. */
  imageStatus(image: string, runtimeHandler: string, options?: CallOptions): Promise<Image | undefined>;
  /** Resolves to the image reference that was pulled. No deadline of its own. */
  pullImage(
    image: string,
    pull: { auth?: RegistryAuth; runtimeHandler: string; sandbox?: SandboxConfig },
    options?: CallOptions,
  ): Promise<string>;
  removeImage(image: string, options?: CallOptions): Promise<void>;
  imageFsInfo(options?: CallOptions): Promise<ImageFsUsage[]>;
}
