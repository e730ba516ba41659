import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import { isAnythingRunning } from '../../model/runtime-status.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { checkAppArmor } from '../../model/security-checks.ts';
import { checkSysctls, sysctlAllowList } from '../../model/sysctls.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { Processes } from '../../ports/processes.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { AdmissionCheck, Rejection } from './admission-check.ts';
import type { ChainOptions } from './admission-chain.ts';
import { judgeAdmission } from './admission-chain.ts';
import { AdmissionManager } from './admission-manager.ts';
import type { AdmissionStep } from './admission-step.ts';
import type { AdmittedRecord } from './admitted-record.ts';
import { createHookStep } from './hook-folder.ts';

/** The operator's own conditions for starting pods. */
export interface AdmissionSettings {
  /** Steps of an embedder, called in this order. */
  readonly steps?: readonly AdmissionStep[];
  /** A folder of programs. They are called after the steps. */
  readonly hooks?: { folder: string; timeoutMs: number; onFailure: 'hold' | 'ignore' };
}

export interface CreateAdmissionParts {
  readonly settings: AdmissionSettings;
  readonly config: Pick<KubeletConfig, 'runtime' | 'gates'>;
  readonly machine: Pick<MachineFacts, 'kernelVersion' | 'appArmorEnabled'>;
  /** Whether the node runs without an API server. */
  readonly standalone: boolean;
  /** Returns why the node does not admit this pod while it is under pressure. */
  readonly underPressure?: (pod: Pod, taintComparisons: boolean) => Rejection | undefined;
  /** Rejects all pods while the node is shutting down. */
  readonly nodeShutdown: AdmissionCheck;
  /** Returns the current node object. */
  readonly node: () => Node;
  /** Lists the pods. */
  readonly directory: {
    live(): Pod[];
    hasEnded(pod: Pod): boolean;
    wasTurnedAway(pod: Pod): boolean;
    hasStopped(uid: PodUid): boolean;
  };
  readonly store: { byUid(uid: PodUid): Pod | undefined };
  readonly cache: { get(uid: PodUid): PodRuntimeStatus | undefined; isRead(uid: PodUid): boolean };
  /** Returns why the node cannot allocate exclusive CPUs, memory or devices to a pod. */
  readonly allocate: (pod: Pod) => Rejection | undefined;
  /** Replaces the resources of pods with their allocated resources. */
  readonly allocatedPods: { apply(pod: Pod): Pod };
  readonly admitted: AdmittedRecord;
  readonly saveAdmitted: () => Promise<void>;
  readonly forgetStatus: (uid: PodUid) => void;
  /** Returns the steps that run last for this pod and allocate what it needs, such as devices. */
  readonly allocatingSteps?: (pod: Pod) => readonly AdmissionStep[];
  /** Called for each pod that is stopped to make room, with the resource of which the node had too little. */
  readonly onPreempted: (resource: string) => void;
  /** Stops a pod permanently to make room. */
  readonly evict: (uid: PodUid) => void;
  readonly onChange: (uid: PodUid) => void;
  /** File access for the programs in the folder. */
  readonly files: HostFiles;
  readonly processes: Processes;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Creates admission as this node is configured, with upstream's checks and the operator's steps. */
export function createAdmission(parts: CreateAdmissionParts): AdmissionManager {
  const { settings, directory, store, cache, allocatedPods, recorder, clock, log } = parts;
  const { steps = [], hooks } = settings;
  const options = chainOptions(parts);
  const hookSteps =
    hooks === undefined ? [] : [createHookStep({ ...hooks, files: parts.files, processes: parts.processes, clock })];
  return new AdmissionManager({
    judge: (question) => judgeAdmission(question, options),
    steps: [...steps, ...hookSteps],
    lastStepsOf: (pod) => parts.allocatingSteps?.(pod) ?? [],
    node: parts.node,
    livePods: () => directory.live().map((pod) => allocatedPods.apply(pod)),
    pod: (uid) => store.byUid(uid),
    hasRun: ({ metadata }) => {
      const status = cache.get(podUid(metadata.uid));
      return (
        !cache.isRead(podUid(metadata.uid)) ||
        (status !== undefined && status.containers.length + status.sandboxes.length > 0)
      );
    },
    runs: ({ metadata }) => {
      const status = cache.get(podUid(metadata.uid));
      return !cache.isRead(podUid(metadata.uid)) || (status !== undefined && isAnythingRunning(status));
    },
    hasContainers: (uid) => (cache.get(uid)?.containers.length ?? 0) > 0,
    pressureOn: (pod) => parts.underPressure?.(pod, options.taintComparisons),
    hasEnded: (pod) => directory.hasEnded(pod),
    forgetRejection: (pod) => {
      if (directory.wasTurnedAway(pod)) parts.forgetStatus(podUid(pod.metadata.uid));
    },
    allocated: (pod) => allocatedPods.apply(pod),
    record: parts.admitted,
    saved: parts.saveAdmitted,
    stop: parts.evict,
    onPreempted: parts.onPreempted,
    hasStopped: (uid) => directory.hasStopped(uid),
    onChange: parts.onChange,
    recorder,
    clock,
    log,
  });
}

function chainOptions(parts: CreateAdmissionParts): ChainOptions {
  const { config, machine, standalone, underPressure, nodeShutdown } = parts;
  const taintComparisons = config.gates.enabled('TaintTolerationComparisonOperators');
  const sysctls = sysctlAllowList(config.runtime.allowedUnsafeSysctls, machine.kernelVersion);
  return {
    checks: {
      ...(underPressure && { eviction: ({ pod }) => underPressure(pod, taintComparisons) }),
      allocate: ({ pod }) => parts.allocate(pod),
      sysctls: ({ pod }) => checkSysctls(pod, sysctls),
      // As upstream, the check applies only to pods that have not started.
      appArmor: ({ pod }) => checkAppArmor(pod, machine),
      nodeShutdown,
    },
    standalone,
    podLevelResources: config.gates.enabled('PodLevelResources'),
    taintComparisons,
  };
}
