/** The content of `kubelet images --gc --dry-run`, over the local API. Sizes are in bytes. */
export interface ImageGcReport {
  readonly mountpoint: string;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedPercent: number;
  readonly highPercent: number;
  readonly lowPercent: number;
  /** How many bytes a pass would free now to reach the low mark; 0 below the high mark. */
  readonly bytesToFree: number;
  /** The images in the order of their removal, and then those that stay. */
  readonly images: readonly ImageVerdict[];
}

export interface ImageVerdict {
  readonly name: string;
  readonly id: string;
  readonly sizeBytes: number;
  /** `remove`: a pass would remove it now. `unused`: it may be removed when space is needed. */
  readonly verdict: 'remove' | 'unused' | 'kept';
  /** The reason, for users. */
  readonly why: string;
}
