// A status updater with one pod, and what it knows of that pod.
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Blocker } from '../../../api/explanation/explanation.ts';
import type { EvictionVerdict } from '../../features/eviction/evicted-record.ts';
import type { PodVerdict } from '../../features/admission/admission-state.ts';
import { StatusManager } from '../../features/status/status-manager.ts';
import type { WorkerState } from '../../features/pod-workers/worker-state.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { StatusUpdater } from '../status-updater.ts';

export const uid = podUid('uid-1');
const identity = { uid, name: 'web', namespace: 'default' };

export function createStatusUpdaterWorld(changes: Changes = {}, restored: Record<string, PodStatus> = {}) {
  const clock = new FakeClock();
  const pod = buildPod(changes);
  const world = {
    worker: { phase: 'syncing', pod } as WorkerState,
    runtime: emptyPodRuntimeStatus(identity, 0),
    isKnown: true,
    /** Whether the runtime has reported the pod. */
    isRead: true,
    restarts: true,
    restartsAll: false,
    isDefinitionChanged: false,
    verdict: undefined as PodVerdict | undefined,
    evicted: undefined as EvictionVerdict | undefined,
    blockers: [] as Blocker[],
  };
  const statuses = new StatusManager(clock, { restored: new Map(Object.entries(restored)) });
  /** The phase of each published status. */
  const phases: (string | undefined)[] = [];
  statuses.onChange(({ status }) => phases.push(status.phase));
  const updater = new StatusUpdater({
    statuses,
    clock,
    states: { get: () => world.worker },
    cache: { getOrEmpty: () => world.runtime, isRead: () => world.isRead },
    directory: { byUid: () => (world.isKnown ? pod : undefined) },
    allocation: { apply: (asked) => asked, conditions: () => [] },
    actuated: { container: () => undefined, podLevel: () => undefined },
    volumes: { blockers: () => world.blockers },
    oomKills: { of: () => ({ containerMessage: () => undefined, condition: undefined }) },
    admission: { verdictOn: () => world.verdict },
    evicted: { get: () => world.evicted },
    rules: {
      shouldBeStarted: () => true,
      restartsAfterExit: () => world.restarts,
      isDefinitionChanged: () => world.isDefinitionChanged,
      shouldRestartAllContainers: () => world.restartsAll,
      needsNewSandbox: () => false,
      isGivenUp: () => false,
    },
    probes: { get: () => undefined },
    failures: { get: () => undefined },
    runtimeName: 'containerd',
    hostIps: [],
  });
  const contain = (state: 'running' | 'exited', exitCode = 0): PodRuntimeStatus => {
    const createdAtMs = clock.nowMs() - 3_600_000;
    const container = {
      id: 'c',
      sandboxId: 's',
      name: 'main',
      state,
      exitCode,
      attempt: 0,
      createdAtMs,
      startedAtMs: createdAtMs,
      finishedAtMs: state === 'exited' ? clock.nowMs() : 0,
      reason: 'Error',
      message: '',
      image: '',
      imageRef: '',
    };
    return {
      ...emptyPodRuntimeStatus(identity, 0),
      containers: [container],
      sandboxes: [{ id: 's', ready: state === 'running', createdAtMs, ips: [] }],
    } as unknown as PodRuntimeStatus;
  };
  return { clock, world, updater, statuses, phases, contain };
}
