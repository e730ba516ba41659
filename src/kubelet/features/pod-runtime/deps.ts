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
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly mounts: Pick<Mounts, 'bindBeneath'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly settings: ContainerSettings;
  /** Returns the current facts about the node. */
  readonly node: () => NodeFacts;
  /**
   * Returns the node's resolver configuration as parsed by `parseResolvConf`, or undefined if the agent is configured
   * to use none.
   */
  readonly hostDns: () => Promise<DnsConfig | undefined>;
  readonly images: ImageEnsurer;
  readonly hooks: LifecycleHooks;
  readonly probes: ProbeVerdicts;
  readonly cache: RuntimeCacheWriter;
  readonly objects: ObjectLookup;
  readonly services: ServiceLookup;
  readonly handlers: RuntimeHandlers;
  /** Provides devices. Without it, containers have only the devices of their volumes. */
  readonly devices?: DeviceProvider;
  readonly events: EventRecorder & NodeEventRecorder;
  readonly timeline: Timeline;
  readonly onChange: OnChange;
  /** Supports resizes of running pods. Without it nothing is resized. */
  readonly resize?: {
    actuated: ActuatedResources;
    cgroups: PodCgroups;
    onDone?: (durationMs: number, succeeded: boolean) => void;
  };
  /** Called after a container started: links its log in /var/log/containers. It is not awaited and must not throw. */
  readonly onStarted?: (pod: Pod, status: ContainerRuntimeStatus) => void;
  readonly cores: number;
  /** The setting `crashLoopBackOff.maxContainerRestartPeriod`; 300 s by default. */
  readonly maxContainerRestartPeriodMs?: number | undefined;
  /** The feature gate ReduceDefaultCrashLoopBackOffDecay. */
  readonly reducedCrashDecay?: boolean;
}
