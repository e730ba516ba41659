import type { ContainerId, PodUid } from './ids.ts';

/**
 * PLEG's event for the sync loop: the state of this pod changed in the runtime, and the cache is already up to date.
 */
export type PodLifecycleEvent =
  | {
      kind: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'ContainerChanged';
      podUid: PodUid;
      containerId: ContainerId;
    }
  | { kind: 'SandboxChanged'; podUid: PodUid };
