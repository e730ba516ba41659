declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** The metadata.uid of a pod. For a static pod, it is the hash that its source computed. */
export type PodUid = Branded<'PodUid'>;
/** The runtime's id of a container (64 hex digits), without the `containerd://` scheme. */
export type ContainerId = Branded<'ContainerId'>;
/** The runtime's id of a pod sandbox. */
export type SandboxId = Branded<'SandboxId'>;

export const podUid = (value: string): PodUid => value as PodUid;
export const containerId = (value: string): ContainerId => value as ContainerId;
export const sandboxId = (value: string): SandboxId => value as SandboxId;
