// What the compose files hand to each other. The order in which things are made: records and knowledge, actors, the loop; links lead back.
import type { Pod } from '../../../api/core/pod.ts';
import type { AllocationManager } from '../../features/allocation/allocation-manager.ts';
import type { ContainerManager } from '../../features/container-manager/container-manager.ts';
import type { LogLinks } from '../../features/container-logs/log-links.ts';
import type { LogRotation } from '../../features/container-logs/log-rotation.ts';
import type { ContainerLogReader } from '../../features/container-logs/read-logs.ts';
import type { EventLog } from '../../features/events/event-recorder.ts';
import type { EventUploader } from '../../features/events/event-uploader.ts';
import type { ActivityBoard } from '../../features/explain/activity-board.ts';
import type { ImageGc } from '../../features/images/image-gc.ts';
import type { ImageManager } from '../../features/images/image-manager.ts';
import type { Pleg } from '../../features/pleg/pleg.ts';
import type { RuntimeCache } from '../../features/pleg/runtime-cache.ts';
import type { ObjectStore } from '../../features/pod-config/object-store.ts';
import type { ClusterObjects, PodObjects } from '../../ports/cluster-objects.ts';
import type { ApiClusterObjects } from '../../features/cluster-objects/api-cluster-objects.ts';
import type { ServiceAccountTokens } from '../../features/tokens/service-account-tokens.ts';
import type { PodRuntime } from '../../features/pod-runtime/pod-runtime.ts';
import type { PodStore } from '../../features/pod-store/pod-store.ts';
import type { ProbeManager } from '../../features/probes/probe-manager.ts';
import type { VolumeManager } from '../../features/volumes/volume-manager.ts';
import type { RuntimeMonitor } from '../../loop/runtime-monitor.ts';
import type { SyncInput } from '../../loop/sync-loop.ts';
import type { PodUid } from '../../model/ids.ts';
import type { CsiParts } from './compose-csi.ts';
import type { Observation } from './compose-metrics.ts';
import type { NodeParts } from './compose-node.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import type { World } from './world.ts';

/** What is known: of the node, pods, objects, the runtime, and what happened. */
export interface Knowledge {
  store: PodStore;
  /** Where features look objects up: the API server's on a node of a cluster, those of manifests on a node of its own. */
  objects: ClusterObjects;
  /** Objects that manifests carry beside pods. On a node of a cluster nobody looks them up. */
  localObjects: ObjectStore;
  /** The API server's, where there is one. */
  clusterObjects: ApiClusterObjects | undefined;
  tokens: ServiceAccountTokens;
  /** Told of each pod that is taken up, and when nothing of it is left. */
  podObjects: PodObjects;
  cache: RuntimeCache;
  board: ActivityBoard;
  recorder: EventLog;
  /** Brings events to the API server, where there is one. */
  eventUploader: EventUploader | undefined;
  node: NodeParts;
  /** What is counted for metrics. */
  observation: Observation;
}

/** What acts on the node. */
export interface Actors {
  pleg: Pleg;
  monitor: RuntimeMonitor;
  probes: ProbeManager;
  volumes: VolumeManager;
  csi: CsiParts;
  cgroups: ContainerManager;
  allocation: AllocationManager;
  images: ImageManager;
  imageGc: ImageGc;
  logLinks: LogLinks;
  logRotation: LogRotation;
  logReader: ContainerLogReader;
  podRuntime: PodRuntime;
}

/**
 * The way back from features to the loop that drives them. Features are made first and the loop last, so these are filled in at the end;
 * nothing is started before that.
 */
export interface Links {
  post: (input: SyncInput) => void;
  refreshStatus: (uid: PodUid) => void;
  runtimeChanged: () => void;
  /** Why a pod may not have a sandbox of its runtime class; undefined for most. */
  runtimeClassRefusal: (uid: PodUid) => string | undefined;
  /** Whether all sources of pods have spoken. */
  sourcesReady: () => boolean;
  /** Whether the pod is over, or is being stopped for good. */
  isOver: (uid: PodUid) => boolean;
  /** The pods that have a place on the node, with the resources they were granted. */
  activePods: () => readonly Pod[];
  /** Why a running pod would not fit beside the others with these resources. */
  misfit: (pod: Pod) => { reason: string; message: string } | undefined;
}

/** What is at hand while the features are made. */
export interface FeatureContext {
  settings: ComposeSettings;
  world: World;
  records: Records;
  knowledge: Knowledge;
  links: Links;
}

/** What is at hand while the loop is made. */
export type LoopContext = FeatureContext & { actors: Actors };
