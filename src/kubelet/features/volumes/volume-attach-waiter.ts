/** Why a volume may not be set up on the node yet. */
export type AttachProblem =
  /** Another component works on it and will notify when done. Upstream records no event. */
  | { readonly kind: 'wait'; readonly message: string }
  /** The volume will not be attached. */
  | { readonly kind: 'refused'; readonly message: string };

export interface VolumeAttachWaiterOptions {
  /** Whether the control plane attaches volumes (`enableControllerAttachDetach`). */
  readonly byController: boolean;
}

/**
 * Volumes that must be attached to the node before it may use them (upstream: operation_generator.go
 * GenerateVerifyControllerAttachedVolumeFunc). When the controller attaches, a volume is used only once the API server
 * knows that this node uses it, so that it is not detached while in use, and once the node's status lists it as
 * attached.
 */
export class VolumeAttachWaiter {
  readonly #options: VolumeAttachWaiterOptions;
  readonly #listeners = new Set<() => void>();
  #reported: ReadonlySet<string> = new Set();
  #attached: ReadonlySet<string> = new Set();

  constructor(options: VolumeAttachWaiterOptions) {
    this.#options = options;
  }

  /** Calls `listener` when a volume that had to wait may go on; returns the function that ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Records the volumes that the API server knows as in use. */
  reported(volumes: readonly string[]): void {
    const before = this.#reported;
    this.#reported = new Set(volumes);
    if (hasNew(before, volumes)) this.#notify();
  }

  /** Records the volumes that the node's status lists as attached. */
  attached(volumes: readonly string[]): void {
    const before = this.#attached;
    this.#attached = new Set(volumes);
    if (hasNew(before, volumes)) this.#notify();
  }

  /**
   * Returns why the volume may not be used yet, or undefined if it may. `byNode` means that the node itself could
   * attach it (upstream's kubelet cannot attach CSI volumes).
   */
  problem(key: string, volume: string, { byNode }: { byNode: boolean }): AttachProblem | undefined {
    if (!this.#options.byController)
      return byNode
        ? undefined
        : {
            kind: 'refused',
            message: `AttachVolume.Attach failed for volume "${volume}" : attaching volumes from the kubelet is not supported`,
          };
    if (!this.#reported.has(key))
      return {
        kind: 'wait',
        message: `Volume has not been added to the list of VolumesInUse in the node's volume status for volume "${volume}"`,
      };
    if (!this.#attached.has(key))
      return { kind: 'wait', message: `Volume not attached according to node status for volume "${volume}"` };
    return undefined;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const hasNew = (before: ReadonlySet<string>, now: readonly string[]): boolean =>
  now.some((volume) => !before.has(volume));
