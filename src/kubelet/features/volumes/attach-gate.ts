/** Why a volume may not be made ready on the node yet. */
export type AttachProblem =
  /** Something is under way elsewhere; word comes when it is done. Upstream tells nobody. */
  | { readonly kind: 'wait'; readonly message: string }
  /** It will not be done. */
  | { readonly kind: 'refused'; readonly message: string };

export interface AttachGateOptions {
  /** `enableControllerAttachDetach`: the control plane attaches. */
  readonly byController: boolean;
  /** A volume that had to wait may go on. */
  readonly onChange: () => void;
}

/**
 * Volumes that are attached to the node before it may use them (upstream: operation_generator.go GenerateVerifyControllerAttachedVolumeFunc).
 * With the controller attaching, a volume is used only once the API server knows that this node uses it, so that it is not detached below a pod,
 * and once the node's status names it as attached.
 */
export class AttachGate {
  readonly #options: AttachGateOptions;
  #reported: ReadonlySet<string> = new Set();
  #attached: ReadonlySet<string> = new Set();

  constructor(options: AttachGateOptions) {
    this.#options = options;
  }

  /** What the API server has been told to be in use. */
  reported(volumes: readonly string[]): void {
    const before = this.#reported;
    this.#reported = new Set(volumes);
    if (hasNew(before, volumes)) this.#options.onChange();
  }

  /** What the node's status names as attached. */
  attached(volumes: readonly string[]): void {
    const before = this.#attached;
    this.#attached = new Set(volumes);
    if (hasNew(before, volumes)) this.#options.onChange();
  }

  /** undefined: it may be used. `byNode`: the node itself could attach it (upstream's kubelet cannot attach CSI volumes). */
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
}

const hasNew = (before: ReadonlySet<string>, now: readonly string[]): boolean =>
  now.some((volume) => !before.has(volume));
