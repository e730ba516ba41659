import type { AnyContainer } from '../../../api/pod.ts';
import { isDeleted, isRestartableInit, isStaticPod } from '../../../api/pod.ts';
import { terminatedReasons, waitingReasons } from '../../../api/reasons.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  ResourceStatus,
  VolumeMountStatus,
} from '../../../api/core/pod-status.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import { endedUnseen, UNKNOWN_EXIT_CODE } from './ended-unseen.ts';
import type { ActuatedRecords, OomKills, RestartRules, StartFailures } from './interfaces.ts';
import { containerStatusResources } from './resources-status.ts';

export interface ContainerStatusFacts {
  readonly pod: Pod;
  readonly runtime: PodRuntimeStatus;
  /** The statuses that were published last. They are used for what the runtime no longer knows. */
  readonly previous: readonly ContainerStatus[];
  /** Whether an earlier run of the agent published them. */
  readonly isPreviousRestored?: boolean;
  readonly rules: RestartRules;
  readonly failures: StartFailures;
  /** The recorded resources of the pod. */
  readonly actuated?: ActuatedRecords;
  readonly oomKills?: OomKills;
  /** Returns the health of a regular container's devices, or undefined if it has none. */
  readonly deviceHealth?: ((container: string) => ResourceStatus[] | undefined) | undefined;
  /** The scheme of containerID, for example `containerd`. */
  readonly runtimeName: string;
  /** Whether stop signals are shown (feature gate ContainerStopSignals). */
  readonly stopSignals?: boolean;
}

/**
 * Computes the API's view of one list of containers (upstream: kubelet_pods.go convertToAPIContainerStatuses). Sources
 * in order: nothing yet → the published status → a lost container → the runtime's status → the reason of a failed
 * start.
 */
export function containerStatuses(
  facts: ContainerStatusFacts,
  containers: readonly AnyContainer[],
  kind: 'init' | 'regular' | 'ephemeral',
): ContainerStatus[] {
  const restartingAll = facts.rules.shouldRestartAllContainers(facts.pod, facts.runtime);
  const statuses = containers.map((container) => {
    const previous = facts.previous.find((status) => status.name === container.name);
    const records = recordsOf(facts, container, kind);
    const known =
      records[0] === undefined
        ? missing(facts, container, previous, restartingAll)
        : { ...present(facts, records, previous), ...resourcesOf(facts, container, records[0]) };
    return waitingToStart(facts, {
      container,
      kind,
      status: {
        ...known,
        volumeMounts: volumeMountsOf(container, records[0], previous),
        ...devicesOf(facts, { container, kind, newest: records[0], previous }),
      },
    });
  });
  return kind === 'init' ? statuses : statuses.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/**
 * Returns the devices of regular containers only, as upstream (devicemanager UpdateAllocatedResourcesStatus). An ended
 * container keeps its published value, because its devices may belong to another pod already.
 */
function devicesOf(
  { deviceHealth }: ContainerStatusFacts,
  {
    container,
    kind,
    newest,
    previous,
  }: {
    container: AnyContainer;
    kind: 'init' | 'regular' | 'ephemeral';
    newest: ContainerRuntimeStatus | undefined;
    previous: ContainerStatus | undefined;
  },
): Pick<ContainerStatus, 'allocatedResourcesStatus'> {
  const health = kind === 'regular' ? deviceHealth?.(container.name) : undefined;
  const kept = newest?.state === 'exited' ? previous?.allocatedResourcesStatus : undefined;
  const shown = health ?? kept;
  return shown === undefined ? {} : { allocatedResourcesStatus: shown };
}

/**
 * Returns the container's runs, newest first. In an initialized pod, an init container that was created but not started
 * (an aborted create that took effect late) does not count as a run.
 */
function recordsOf(
  facts: ContainerStatusFacts,
  container: AnyContainer,
  kind: 'init' | 'regular' | 'ephemeral',
): ContainerRuntimeStatus[] {
  const records = facts.runtime.containers.filter((record) => record.name === container.name);
  if (kind !== 'init' || isRestartableInit(container) || records[0]?.state !== 'created' || !runsRegular(facts))
    return records;
  return records.filter((record) => record.state !== 'created');
}

function runsRegular(facts: ContainerStatusFacts): boolean {
  return facts.runtime.containers.some(
    (record) => record.state === 'running' && facts.pod.spec.containers.some(({ name }) => name === record.name),
  );
}

function resourcesOf(
  { actuated }: ContainerStatusFacts,
  container: AnyContainer,
  newest: ContainerRuntimeStatus,
): Pick<ContainerStatus, 'resources' | 'allocatedResources'> {
  const { requests } = container.resources ?? {};
  const resources = containerStatusResources(container, newest, actuated?.container(container.name));
  return {
    ...(requests === undefined || Object.keys(requests).length === 0 ? {} : { allocatedResources: requests }),
    resources,
  };
}

/** Builds the status of a container without a record in the runtime: it never ran, or its records were removed. */
function missing(
  facts: ContainerStatusFacts,
  container: AnyContainer,
  previous: ContainerStatus | undefined,
  restartingAll: boolean,
): ContainerStatus {
  const reason =
    (facts.pod.spec.initContainers ?? []).length > 0
      ? waitingReasons.podInitializing
      : waitingReasons.containerCreating;
  const waiting: ContainerStatus = {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    state: { waiting: { reason } },
    lastState: previous?.lastState ?? {},
  };
  if (previous === undefined) return waiting;
  if (restartingAll && previous.state?.waiting === undefined) return resetInPlace(waiting, previous);
  if (previous.state?.terminated !== undefined) return { ...previous, ready: false };
  if (previous.state?.running === undefined || waiting.lastState?.terminated !== undefined) return waiting;
  return {
    ...waiting,
    restartCount: waiting.restartCount + (isDeleted(facts.pod) ? 0 : 1),
    lastState: {
      terminated: endedUnseen(
        'The container could not be located when the pod was deleted.  The container used to be Running',
      ),
    },
  };
}

function resetInPlace(waiting: ContainerStatus, previous: ContainerStatus): ContainerStatus {
  const reason = terminatedReasons.restartingAllContainers;
  const message = 'The container is removed because RestartAllContainers in place';
  return {
    ...waiting,
    restartCount: previous.restartCount + 1,
    state: { waiting: { reason, message } },
    lastState: { terminated: { exitCode: UNKNOWN_EXIT_CODE, reason, message } },
  };
}

/**
 * Builds the status of a container with records. The newest is the current state, the one before it the last
 * termination.
 */
function present(
  facts: ContainerStatusFacts,
  records: readonly ContainerRuntimeStatus[],
  previous: ContainerStatus | undefined,
): ContainerStatus {
  const [newest, older] = records as [ContainerRuntimeStatus, ContainerRuntimeStatus | undefined];
  const id = `${facts.runtimeName}://${newest.id}`;
  if (previous !== undefined && isBefore(newest, id, previous)) return { ...previous, ready: false };
  let restartCount = Math.max(newest.attempt, previous?.restartCount ?? 0);
  const state = stateOf(facts, newest, previous);
  if (newest.state === 'unknown' && previous?.state?.running !== undefined) restartCount = previous.restartCount + 1;
  if (
    newest.state === 'running' &&
    previous?.state?.terminated !== undefined &&
    previous.restartCount >= newest.attempt &&
    previous.containerID !== id
  ) {
    restartCount = previous.restartCount + 1;
  }
  const status: ContainerStatus = {
    name: newest.name,
    image: newest.image,
    imageID: newest.imageRef,
    containerID: id,
    ready: false,
    restartCount,
    state,
    lastState: lastStateOf(facts, { id, older, previous }),
  };
  if (facts.stopSignals === true && newest.stopSignal !== undefined)
    status.stopSignal = newest.stopSignal as NonNullable<ContainerStatus['stopSignal']>;
  const user = newest.user;
  if (user !== undefined)
    status.user = { linux: { uid: user.uid, gid: user.gid, supplementalGroups: [...user.supplementalGroups] } };
  return status;
}

/**
 * Whether the record of the last published run was removed while that of an earlier run still exists. Then the
 * published status is kept.
 */
function isBefore(
  { state, attempt, startedAtMs }: ContainerRuntimeStatus,
  id: string,
  published: ContainerStatus,
): boolean {
  const { terminated } = published.state ?? {};
  return (
    state === 'exited' &&
    published.containerID !== id &&
    attempt < published.restartCount &&
    Date.parse(terminated?.startedAt ?? '') > startedAtMs
  );
}

function lastStateOf(
  facts: ContainerStatusFacts,
  of: { id: string; older: ContainerRuntimeStatus | undefined; previous: ContainerStatus | undefined },
): ContainerState {
  if (of.older !== undefined && of.older.state === 'exited')
    return { terminated: terminatedState(facts, of.older, of.previous) };
  if (of.previous?.containerID !== of.id && of.previous?.state?.terminated !== undefined)
    return { terminated: of.previous.state.terminated };
  return of.previous?.lastState ?? {};
}

function stateOf(
  facts: ContainerStatusFacts,
  record: ContainerRuntimeStatus,
  previous: ContainerStatus | undefined,
): ContainerState {
  switch (record.state) {
    case 'running':
      return { running: { startedAt: timestamp(record.startedAtMs) } };
    case 'exited':
      return { terminated: terminatedState(facts, record, previous) };
    case 'created':
      return { waiting: {} };
    case 'unknown':
      if (previous?.state?.running === undefined) return { waiting: {} };
      return { terminated: endedUnseen() };
  }
}

function terminatedState(
  facts: ContainerStatusFacts,
  record: ContainerRuntimeStatus,
  previous: ContainerStatus | undefined,
): ContainerStateTerminated {
  const id = `${facts.runtimeName}://${record.id}`;
  const state: ContainerStateTerminated = { exitCode: record.exitCode, reason: record.reason };
  const message = record.message === '' ? oomMessage(facts, { record, id, previous }) : record.message;
  if (message !== undefined) state.message = message;
  state.startedAt = timestamp(record.startedAtMs);
  state.finishedAt = timestamp(record.finishedAtMs);
  state.containerID = id;
  return state;
}

/**
 * Returns the message about the exceeded limit of an OOM-killed container, from the kernel or from an earlier run of
 * the agent.
 */
function oomMessage(
  { oomKills }: ContainerStatusFacts,
  of: { record: ContainerRuntimeStatus; id: string; previous: ContainerStatus | undefined },
): string | undefined {
  if (of.record.reason !== terminatedReasons.oomKilled) return undefined;
  const published = [of.previous?.state?.terminated, of.previous?.lastState?.terminated];
  return (
    oomKills?.containerMessage(of.record.id) ??
    published.find((state) => state?.containerID === of.id && state.reason === of.record.reason)?.message
  );
}

/**
 * Builds the status of a container that is about to be started (again): waiting, with the reason of its last failed
 * start if there was one.
 */
function waitingToStart(
  facts: ContainerStatusFacts,
  subject: { container: AnyContainer; kind: 'init' | 'regular' | 'ephemeral'; status: ContainerStatus },
): ContainerStatus {
  const { container, kind, status } = subject;
  const newest = recordsOf(facts, container, kind)[0];
  if (kind === 'init') {
    // This includes sidecars: a sidecar that waits to be restarted is shown as completed successfully.
    if (newest?.state === 'exited' && newest.exitCode === 0) return status;
    if (
      newest === undefined &&
      !isRestartableInit(container) &&
      status.state?.waiting !== undefined &&
      hasRegularContainer(facts) &&
      !facts.rules.shouldRestartAllContainers(facts.pod, facts.runtime)
    ) {
      return { ...status, state: { terminated: doneUnseen() } };
    }
    if (newest === undefined && isSilentEndOfStaticPod(facts, status))
      return { ...status, state: { terminated: { ...status.state.terminated, message: DONE_UNSEEN } } };
  }
  if (kind === 'ephemeral' && newest !== undefined) return status;
  if (!facts.rules.shouldBeStarted(facts.pod, container, newest)) return status;
  const failure = facts.failures.get(podUid(facts.pod.metadata.uid ?? ''), container.name);
  if (failure === undefined) return status;
  const lastState = status.state?.terminated === undefined ? status.lastState : { terminated: status.state.terminated };
  return { ...status, lastState, state: { waiting: { reason: failure.reason, message: failure.message } } };
}

const DONE_UNSEEN =
  'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

/**
 * Builds the status of an init container without a record. In an initialized pod (that is not being restarted), it must
 * have succeeded.
 */
function doneUnseen(): ContainerStateTerminated {
  return { exitCode: 0, reason: terminatedReasons.completed, message: DONE_UNSEEN };
}

/**
 * Whether upstream would report an assumed end for this container of a static pod. Upstream forgets the statuses of
 * static pods when it restarts, and then reports what it assumes. This agent reports the same, and keeps what it knows
 * of the end.
 */
function isSilentEndOfStaticPod(
  facts: ContainerStatusFacts,
  status: ContainerStatus,
): status is ContainerStatus & { state: { terminated: ContainerStateTerminated } } {
  const { terminated } = status.state ?? {};
  return (
    facts.isPreviousRestored === true &&
    isStaticPod(facts.pod) &&
    terminated?.exitCode === 0 &&
    (terminated.message ?? '') === '' &&
    hasRegularContainer(facts)
  );
}

function hasRegularContainer(facts: ContainerStatusFacts): boolean {
  const regular = new Set(facts.pod.spec.containers.map((container) => container.name));
  return facts.runtime.containers.some((record) => regular.has(record.name));
}

/**
 * Returns the recursive read-only setting that was sent to the runtime. Before a container exists, and when its record
 * was removed, it is the last published value.
 */
function volumeMountsOf(
  container: AnyContainer,
  record: ContainerRuntimeStatus | undefined,
  previous: ContainerStatus | undefined,
): VolumeMountStatus[] | undefined {
  return container.volumeMounts?.map((mount) => {
    const status: VolumeMountStatus = { name: mount.name, mountPath: mount.mountPath };
    if (mount.readOnly !== true) return status;
    const made = record?.mounts?.find(
      ({ containerPath }) => containerPath === mount.mountPath || containerPath === `/${mount.mountPath}`,
    );
    const said = previous?.volumeMounts?.find(({ mountPath }) => mountPath === mount.mountPath)?.recursiveReadOnly;
    const known = made === undefined ? said : made.recursiveReadOnly === true ? 'Enabled' : undefined;
    return { ...status, readOnly: true, recursiveReadOnly: known ?? 'Disabled' };
  });
}

/**
 * Formats a time as metav1.Time does: RFC 3339 with whole seconds. Returns undefined for a time the runtime does not
 * know.
 */
export function timestamp(wallMs: number): string | undefined {
  return wallMs <= 0 ? undefined : `${new Date(wallMs).toISOString().slice(0, -'.000Z'.length)}Z`;
}
