import { podKey } from '../../../api/pod.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { DiskConsumer } from './disk-consumers.ts';
import { computeDiskConsumers } from './disk-consumers.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictedRecord } from './evicted-record.ts';
import type { PodEvictorParts } from './evict-pod.ts';
import { PodEvictor } from './evict-pod.ts';
import type { EvictionManagerParts } from './eviction-manager.ts';
import { EvictionManager } from './eviction-manager.ts';
import type { EvictionReporterParts } from './eviction-reporter.ts';
import { EvictionReporter } from './eviction-reporter.ts';
import type { NodePressure } from './node-pressure.ts';
import type { PodUsageParts, RunningPod } from './pod-usage.ts';
import type { SignalSources } from './signal-reader.ts';
import { SignalReader } from './signal-reader.ts';
import { SignalReadings } from './signal-readings.ts';
import type { Threshold } from './thresholds.ts';
import { parseThresholds, withContainerFs } from './thresholds.ts';

export interface CreateEvictionParts
  extends Pick<
    EvictionManagerParts,
    'activePods' | 'isReady' | 'isCleanedUp' | 'onStatsAge' | 'clock' | 'random' | 'log'
  > {
  readonly config: Pick<KubeletConfig, 'eviction' | 'reserved' | 'versioned' | 'gates'>;
  readonly rootDir: string;
  readonly sources: SignalSources & { readonly groups: PodUsageParts['groups'] };
  readonly podsGroup: string | undefined;
  readonly runningPods: () => readonly RunningPod[];
  readonly diskUse: PodUsageParts['diskUse'];
  readonly pressure: NodePressure;
  readonly record: EvictedRecord;
  readonly events: EvictionManagerParts['events'] & PodEvictorParts['events'];
  /** Writes the record of evicted pods now. */
  readonly saveEvicted: () => Promise<void>;
  readonly kill: (uid: PodUid, graceMs: number) => void;
  readonly onEvicted: (signal: string) => void;
  readonly containerGc: EvictionManagerParts['containerGc'] & EvictionReporterParts['containerGc'];
  readonly imageGc: EvictionManagerParts['imageGc'] & EvictionReporterParts['imageGc'];
  readonly pod: EvictionReporterParts['pod'];
}

export interface EvictionParts {
  readonly manager: EvictionManager;
  readonly reporter: EvictionReporter;
  /** Measures what the pods use of the file system of images. */
  readonly diskConsumers: () => Promise<DiskConsumer[]>;
}

/** Creates eviction under pressure, as this node is configured. It starts nothing. */
export function createEviction(parts: CreateEvictionParts): EvictionParts {
  const { config, rootDir, sources, podsGroup, record, kill, events, onEvicted, clock, random, log } = parts;
  const { eviction, reserved, versioned } = config;
  const monotonicMs = (): number => clock.monotonicMs();
  const separateDisks = config.gates.enabled('KubeletSeparateDiskGC');
  const reader = new SignalReader({ sources, podsGroup, rootDir, separateDisks, monotonicMs, log });
  const thresholds = thresholdsOf(parseThresholds(eviction, reserved.enforce.includes('pods')), reader);
  const readings = new SignalReadings({ reader, thresholds, monotonicMs, onRead: () => manager.wake() });
  const usage = { runningPods: parts.runningPods, groups: sources.groups, diskUse: parts.diskUse };
  const findLayout = (): Promise<DiskLayout> => reader.findLayout();
  const manager: EvictionManager = new EvictionManager({
    readings,
    watchMemory: versioned.kernelMemcgNotification
      ? (onEvent) => sources.memoryEvents?.watch(podsGroup ?? '/', onEvent)
      : () => undefined,
    thresholds,
    transitionMs: eviction.pressureTransitionMs,
    maxPodGraceMs: eviction.maxPodGraceMs,
    enforcesStorageLimits: versioned.localStorageCapacityIsolation,
    pressure: parts.pressure,
    findLayout,
    usage,
    containerGc: parts.containerGc,
    imageGc: parts.imageGc,
    evictor: new PodEvictor({ record, save: parts.saveEvicted, kill, events, onEvicted, log }),
    activePods: parts.activePods,
    isReady: parts.isReady,
    isCleanedUp: parts.isCleanedUp,
    events,
    onStatsAge: parts.onStatsAge,
    clock,
    random,
    log,
  });
  const reporter = new EvictionReporter({
    readings,
    thresholds,
    transitionMs: eviction.pressureTransitionMs,
    manager,
    usage,
    findLayout,
    containerGc: parts.containerGc,
    imageGc: parts.imageGc,
    pod: parts.pod,
    monotonicMs,
  });
  const nameOf = (uid: string): string | undefined => {
    const pod = parts.pod(podUid(uid));
    return pod === undefined ? undefined : podKey(pod);
  };
  const diskConsumers = async (): Promise<DiskConsumer[]> => {
    const uids = new Set(parts.activePods().map(({ metadata }) => metadata.uid));
    return computeDiskConsumers(await usage.diskUse(uids), nameOf, await findLayout());
  };
  return { manager, reporter, diskConsumers };
}

/** Returns the thresholds. The file system of containers is known only when the runtime has reported it. */
function thresholdsOf(
  configured: readonly Threshold[],
  reader: Pick<SignalReader, 'layout'>,
): () => readonly Threshold[] {
  const shared = withContainerFs(configured, 'nodefs');
  const dedicated = withContainerFs(configured, 'imagefs');
  return () => (reader.layout === 'dedicated' ? dedicated : shared);
}
