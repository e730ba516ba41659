import type { ContainerId, PodUid } from './ids.ts';

/** What PLEG tells the sync loop: something of this pod changed in the runtime, and the cache already knows it. */
export type PodLifecycleEvent =
  | {
      kind: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'ContainerChanged';
      podUid: PodUid;
      containerId: ContainerId;
    }
  | { kind: 'SandboxChanged'; podUid: PodUid };
