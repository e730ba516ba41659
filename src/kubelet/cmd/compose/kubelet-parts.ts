// The parts of the agent by name, in the order in which they are made. Each compose function says which it needs.
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { AdmissionManager } from '../../features/admission/admission-manager.ts';
import type { AllocatedPods } from '../../features/allocation/allocated-pods.ts';
import type { AllocationManager } from '../../features/allocation/allocation-manager.ts';
import type { ContainerManager } from '../../features/container-manager/container-manager.ts';
import type { NodeSetup } from '../../features/container-manager/create-node-setup.ts';
import type { LogCleanup } from '../../features/container-logs/log-cleanup.ts';
import type { LogRotation } from '../../features/container-logs/log-rotation.ts';
import type { ContainerLogReader } from '../../features/container-logs/read-logs.ts';
import type { EventLog } from '../../features/events/event-recorder.ts';
import type { EventUploader } from '../../features/events/event-uploader.ts';
import type { ContainerGc } from '../../features/container-gc/container-gc.ts';
import type { NodeProblems } from '../../features/node-problems/node-problems.ts';
import type { OomWatcher } from '../../features/oom-watcher/oom-watcher.ts';
import type { ExplainStore } from '../../features/explain/explain-store.ts';
import type { PodWorkers } from '../../features/pod-workers/pod-workers.ts';
import type { UserNamespaces } from '../../features/user-namespaces/user-namespaces.ts';
import type { ClusterPods } from '../../loop/cluster-pods.ts';
import type { StatusUpdater } from '../../loop/status-updater.ts';
import type { SyncLoop } from '../../loop/sync-loop.ts';
import type { PodSources } from '../../features/pod-config/pod-sources.ts';
import type { ActivityTracker } from '../../features/explain/activity-tracker.ts';
import type { ImageGc } from '../../features/images/image-gc.ts';
import type { ImageManager } from '../../features/images/image-manager.ts';
import type { Pleg } from '../../features/pleg/pleg.ts';
import type { RuntimeCache } from '../../features/pleg/runtime-cache.ts';
import type { ManifestObjects } from '../../features/pod-config/manifest-objects.ts';
import type { PodConfig } from '../../features/pod-config/pod-config.ts';
import type { RuntimeClassAdmission } from '../../features/pod-config/runtime-class-admission.ts';
import type { ClusterObjects, PodObjects } from '../../ports/cluster-objects.ts';
import type { ApiClusterObjects } from '../../features/cluster-objects/api-cluster-objects.ts';
import type { PodCredentials } from '../../features/pod-credentials/create-pod-credentials.ts';
import type { ServiceAccountTokens } from '../../features/tokens/service-account-tokens.ts';
import type { NodeShutdown } from '../../features/node-shutdown/create-node-shutdown.ts';
import type { ShutdownState } from '../../features/node-shutdown/shutdown-state.ts';
import type { PodRuntime } from '../../features/pod-runtime/pod-runtime.ts';
import type { PodStore } from '../../features/pod-store/pod-store.ts';
import type { WorkerStates } from '../../features/pod-workers/worker-states.ts';
import type { ProbeManager } from '../../features/probes/probe-manager.ts';
import type { AttachHistory } from '../../features/server/attach-history.ts';
import type { VolumeAttachWaiter } from '../../features/volumes/volume-attach-waiter.ts';
import type { VolumeManager } from '../../features/volumes/volume-manager.ts';
import type { PodChanges } from '../../loop/pod-changes.ts';
import type { PodDirectory } from '../../loop/pod-directory.ts';
import type { RuntimeMonitor } from '../../loop/runtime-monitor.ts';
import type { SyncQueue } from '../../loop/sync-queue.ts';
import type { DeviceParts } from '../../features/device-manager/create-device-manager.ts';
import type { PodResourcesService } from '../../features/pod-resources/create-pod-resources.ts';
import type { DriverRegistry } from '../../features/csi/driver-registry.ts';
import type { NodeInfoKeeper } from '../../features/csi/node-info-keeper.ts';
import type { DraParts } from '../../features/dra/create-dra.ts';
import type { PluginManager } from '../../features/plugin-manager/plugin-manager.ts';
import type { VolumePlugin } from '../../ports/volume-plugin.ts';
import type { MemoryManager } from '../../features/memory-manager/memory-manager.ts';
import type { CpuManager } from '../../features/cpu-manager/cpu-manager.ts';
import type { ResourceManagers } from '../../loop/resource-managers.ts';
import type { Observation } from '../../features/metrics/observation.ts';
import type { NodeParts } from '../../features/node/create-node.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import type { Platform } from './platform.ts';

/** The parts that are created first. */
export interface BaseParts {
  readonly settings: ComposeSettings;
  readonly platform: Platform;
  readonly records: Records;
  /** The queue to which features post the inputs of the sync loop. */
  readonly queue: SyncQueue;
  /** The notifications of changed pods. */
  readonly changes: PodChanges;
  /** The metrics and their notifications. */
  readonly observation: Observation;
  /** The wanted pods. */
  readonly store: PodStore;
}

/** The parts with the state of the node, its pods, objects, the runtime, and past events. */
export interface KnownParts {
  /** The phase of each pod on this node. The pod workers write it. */
  readonly states: WorkerStates;
  /** Answers which pods exist, are alive, have ended and are visible. */
  readonly directory: PodDirectory;
  /** The source of objects: the API server in a cluster, and manifests on a standalone node. */
  readonly objects: ClusterObjects;
  /** The objects in manifests. They are not used on a node of a cluster. */
  readonly localObjects: ManifestObjects;
  /** The objects of the API server; undefined on a standalone node. */
  readonly clusterObjects: ApiClusterObjects | undefined;
  readonly podConfig: PodConfig;
  readonly runtimeClasses: RuntimeClassAdmission;
  /** Whether all sources of pods have reported and their pods were handled. */
  readonly sourcesReady: () => boolean;
  /** Supplies pods with their allocated resources. */
  readonly allocatedPods: AllocatedPods;
  readonly tokens: ServiceAccountTokens;
  readonly podCredentials: PodCredentials;
  /** Registers each accepted pod until it is removed from the node. */
  readonly podObjects: PodObjects;
  readonly cache: RuntimeCache;
  readonly activityTracker: ActivityTracker;
  readonly recorder: EventLog;
  /** Whether the node is shutting down. */
  readonly shutdownState: ShutdownState;
  /** Uploads events to the API server; undefined on a standalone node. */
  readonly eventUploader: EventUploader | undefined;
  readonly node: NodeParts;
}

/** CSI on this node: the registered drivers, their registration, and the volume plugin. */
export interface CsiParts {
  readonly drivers: DriverRegistry;
  readonly plugins: PluginManager;
  readonly volumes: VolumePlugin;
  /** Publishes the drivers as the CSINode object; undefined on a standalone node. */
  readonly nodeInfo: NodeInfoKeeper | undefined;
}

/** The parts that act on the node. */
export interface FeatureParts {
  readonly pleg: Pleg;
  readonly monitor: RuntimeMonitor;
  readonly probes: ProbeManager;
  readonly volumes: VolumeManager;
  /** Waits for attachments; undefined on a standalone node. */
  readonly attachWaiter: VolumeAttachWaiter | undefined;
  readonly csi: CsiParts;
  readonly devices: DeviceParts;
  readonly dra: DraParts;
  readonly podResources: PodResourcesService;
  readonly cgroups: ContainerManager;
  readonly oomWatcher: OomWatcher;
  /** Reports problems of the kernel log; undefined if that is off. */
  readonly nodeProblems: NodeProblems | undefined;
  readonly nodeSetup: NodeSetup;
  readonly admission: AdmissionManager;
  readonly allocation: AllocationManager;
  readonly cpuManager: CpuManager;
  readonly memoryManager: MemoryManager;
  readonly managers: ResourceManagers;
  readonly images: ImageManager;
  readonly imageGc: ImageGc;
  /** Must be called with each started container. */
  readonly noteStarted: (pod: Pod, status: ContainerRuntimeStatus) => void;
  readonly logRotation: LogRotation;
  readonly logReader: ContainerLogReader;
  readonly logCleanup: LogCleanup;
  readonly attachHistory: AttachHistory;
  readonly podRuntime: PodRuntime;
}

/** The loop that calls the features, and the explanation of pods. */
export interface LoopParts {
  readonly sources: PodSources;
  readonly workers: PodWorkers;
  readonly status: StatusUpdater;
  readonly explain: ExplainStore;
  readonly loop: SyncLoop;
  readonly containerGc: ContainerGc;
  readonly userNamespaces: UserNamespaces;
  readonly nodeShutdown: NodeShutdown;
  /** The sync with the API server's pods; undefined on a standalone node. */
  readonly clusterPods: ClusterPods | undefined;
}

/** All parts of the agent. */
export type KubeletParts = BaseParts & KnownParts & FeatureParts & LoopParts;

/** The parts that are created first, and the named ones. */
export type Given<Name extends keyof KubeletParts = never> = BaseParts & Pick<KubeletParts, Name>;
