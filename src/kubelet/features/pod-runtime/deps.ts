import type { Pod } from '../../../api/core/pod.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { EventRecorder, NodeEventRecorder } from '../../ports/recorder.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import type { DnsConfig } from './config/dns-config.ts';
import type {
  ActuatedResources,
  DeviceProvider,
  ImageEnsurer,
  LifecycleHooks,
  ObjectLookup,
  OnChange,
  PodCgroups,
  ProbeVerdicts,
  RuntimeCacheWriter,
  RuntimeHandlers,
  ServiceLookup,
  Timeline,
} from './interfaces.ts';
import type { ContainerSettings, NodeFacts } from './config/node-facts.ts';

/** The dependencies of PodRuntime. */
export interface PodRuntimeDeps {
  runtime: ContainerRuntime;
  files: HostFiles;
  mounts: Pick<Mounts, 'bindBeneath'>;
  clock: Clock;
  random: Random;
  log: Logger;
  settings: ContainerSettings;
  /** The node as it is now. */
  node: () => NodeFacts;
  /**
   * Content of the node's resolver configuration as parsed by `parseResolvConf`; undefined when the agent is configured
   * to use none.
   */
  hostDns: () => Promise<DnsConfig | undefined>;
  images: ImageEnsurer;
  hooks: LifecycleHooks;
  probes: ProbeVerdicts;
  cache: RuntimeCacheWriter;
  objects: ObjectLookup;
  services: ServiceLookup;
  handlers: RuntimeHandlers;
  /** Absent: containers have no devices but those of their volumes. */
  devices?: DeviceProvider;
  events: EventRecorder & NodeEventRecorder;
  timeline: Timeline;
  onChange: OnChange;
  /** For resizes of running pods; without it nothing is resized. */
  resize?: {
    actuated: ActuatedResources;
    cgroups: PodCgroups;
    onDone?: (durationMs: number, succeeded: boolean) => void;
  };
  /** Called after a container started: links its log in /var/log/containers. Not awaited; must not throw. */
  onStarted?: (pod: Pod, status: ContainerRuntimeStatus) => void;
  cores: number;
  /** From `crashLoopBackOff.maxContainerRestartPeriod`; 300 s by default. */
  maxContainerRestartPeriodMs?: number;
}
