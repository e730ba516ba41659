/** What `kubelet images --gc --dry-run` shows, over the local API. Sizes in bytes. */
export interface ImageGcReport {
  readonly mountpoint: string;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedPercent: number;
  readonly highPercent: number;
  readonly lowPercent: number;
  /** How much a pass now would free to reach the low mark; 0 below the high mark. */
  readonly bytesToFree: number;
  /** In the order in which they would be removed; then those that stay. */
  readonly images: readonly ImageVerdict[];
}

export interface ImageVerdict {
  readonly name: string;
  readonly id: string;
  readonly sizeBytes: number;
  /** `remove`: by a pass now. `unused`: it may be removed when space is needed. */
  readonly verdict: 'remove' | 'unused' | 'kept';
  /** Why; for people. */
  readonly why: string;
}
