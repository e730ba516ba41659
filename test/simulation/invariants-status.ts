import type { Container } from '../../src/api/core/container.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import type { ContainerStatus, PodStatus } from '../../src/api/core/pod-status.ts';
import type { Instance } from './containers.ts';
import type { SimulatedNode } from './world.ts';
import { isTerminalPhase } from '../../src/api/pod.ts';

export interface StatusInvariantsParts {
  readonly node: SimulatedNode;
  readonly instance: (containerId: string) => Instance | undefined;
  readonly stateLostMs: () => number;
  readonly wantedSince: (uid: string, sinceMs: number) => boolean;
  readonly execDisturbed: () => boolean;
  readonly report: (invariant: string, message: string) => void;
}

interface PodRecord {
  readonly status: PodStatus;
  readonly atMs: number;
  readonly firstMs: number;
}

/** What happens at the very moment of a kill -9 may be lost. */
const UNSAVED_MS = 1;

const bareId = (id: string | undefined): string => (id ?? '').replace(/^.*:\/\//, '');

/**
 * Checks every status that any agent publishes, over all lives of the agent: I4 (known facts do not change), I6 (Ready
 * only after success), phases.
 */
export class StatusInvariants {
  readonly #parts: StatusInvariantsParts;
  readonly #pods = new Map<string, PodRecord>();
  readonly #ends = new Map<string, string>();
  /** The real exit code of each process, by container id. */
  readonly #truth = new Map<string, number>();
  /** Containers that the scenario removed; their exit code could not be read. */
  readonly taken = new Set<string>();
  readonly takenFrom = new Set<string>();
  readyChanges = 0;
  published = 0;

  constructor(parts: StatusInvariantsParts) {
    this.#parts = parts;
  }

  last(uid: string): PodStatus | undefined {
    return this.#pods.get(uid)?.status;
  }

  noteExit(id: string, exitCode: number): void {
    if (!this.#truth.has(id)) this.#truth.set(id, exitCode);
  }

  onStatus(uid: string, pod: Pod, status: PodStatus): void {
    this.published++;
    const nowMs = this.#parts.node.clock.monotonicMs();
    let before = this.#pods.get(uid);
    // A pod that came back after it had been taken away starts again.
    if (before !== undefined && !this.#parts.wantedSince(uid, before.firstMs)) before = undefined;
    if (before !== undefined) this.#compare(pod, before, status);
    for (const container of statusesOf(status)) this.#judge(pod, container);
    if (pod.spec.restartPolicy === 'Always' && isTerminalPhase(status.phase) && this.#parts.wantedSince(uid, nowMs)) {
      this.#parts.report('I4', `${pod.metadata.name} restarts always and was said to be ${status.phase}`);
    }
    this.#pods.set(uid, { status, atMs: nowMs, firstMs: before?.firstMs ?? nowMs });
  }

  #compare(pod: Pod, record: PodRecord, status: PodStatus): void {
    const { report, stateLostMs } = this.#parts;
    const before = record.status;
    const name = pod.metadata.name;
    if (before.startTime !== status.startTime && stateLostMs() < record.atMs && this.#hadSandbox(pod.metadata.uid))
      report('I4', `startTime of ${name} changed from ${before.startTime} to ${status.startTime}`);
    if (
      isTerminalPhase(before.phase) &&
      status.phase !== before.phase &&
      stateLostMs() < 0 &&
      !this.takenFrom.has(pod.metadata.uid)
    )
      report('I4', `${name} left its terminal phase ${before.phase} for ${status.phase}`);
    this.#compareTransitions(pod, record, status);
    for (const container of statusesOf(status)) {
      const earlier = statusesOf(before).find((candidate) => candidate.name === container.name);
      if (earlier === undefined) continue;
      if (container.restartCount < earlier.restartCount && stateLostMs() < 0 && !this.takenFrom.has(pod.metadata.uid))
        report(
          'I4',
          `restartCount of ${name}/${container.name} went back from ${earlier.restartCount} to ${container.restartCount}`,
        );
      if (earlier.ready !== container.ready) this.readyChanges++;
      const isSame =
        earlier.containerID === container.containerID &&
        earlier.state?.running !== undefined &&
        container.state?.running !== undefined;
      if (isSame && earlier.ready && !container.ready) this.#judgeUnready(pod, container);
      if (isSame && earlier.state?.running?.startedAt !== container.state?.running?.startedAt)
        report(
          'I4',
          `startedAt of ${name}/${container.name} changed from ${earlier.state?.running?.startedAt} to ${container.state?.running?.startedAt}`,
        );
    }
  }

  /** An earlier time may be learnt from the API server later. A later time means that the transition changed. */
  #compareTransitions(pod: Pod, record: PodRecord, status: PodStatus): void {
    if (this.#parts.stateLostMs() > record.atMs || this.#isUnsaved(record.atMs)) return;
    for (const { type, status: now, lastTransitionTime = '' } of status.conditions ?? []) {
      if (type.startsWith('PodResize')) continue; // It has the time of the newest resize.
      const before = record.status.conditions?.find((condition) => condition.type === type && condition.status === now);
      if (before?.lastTransitionTime !== undefined && before.lastTransitionTime < lastTransitionTime)
        this.#parts.report(
          'I4',
          `${type} of ${pod.metadata.name} stayed ${now}, and its transition time changed from ${before.lastTransitionTime} to ${lastTransitionTime}`,
        );
    }
  }

  /**
   * Whether the pod had a sandbox or container before the present agent started. An agent that was killed before that
   * left no record.
   */
  #hadSandbox(uid: string): boolean {
    const { clock, runtime, agent } = this.#parts.node;
    const beganWallMs = clock.nowMs() - (clock.monotonicMs() - (agent?.startedMs ?? 0));
    return runtime.sandboxes(uid).some((sandbox) => sandbox.createdAtMs < beganWallMs);
  }

  #judge(pod: Pod, container: ContainerStatus): void {
    const { report, instance, execDisturbed, stateLostMs, node } = this.#parts;
    const where = `${pod.metadata.name}/${container.name}`;
    for (const end of [container.state?.terminated, container.lastState?.terminated]) {
      const id = bareId(end?.containerID);
      if (end === undefined || id === '') continue;
      const said = `${end.exitCode} ${end.finishedAt ?? ''}`;
      const before = this.#ends.get(id);
      if (before !== undefined && before !== said && !this.taken.has(id))
        report('I4', `the end of ${where} (${id.slice(0, 8)}) changed from "${before}" to "${said}"`);
      this.#ends.set(id, said);
      const truth = this.#truth.get(id);
      if (truth !== undefined && truth !== end.exitCode && !this.taken.has(id))
        report('I4', `${where} (${id.slice(0, 8)}) ended with ${truth}, but ${end.exitCode} (${end.reason}) was said`);
    }
    const spec = specOf(pod, container.name);
    if (!container.ready || container.state?.running === undefined || spec?.readinessProbe === undefined) return;
    const tally = instance(bareId(container.containerID))?.tally.readiness;
    if (tally === undefined) return;
    const madeMs = instance(bareId(container.containerID))?.startedMs ?? 0;
    if (tally.passed === 0 && stateLostMs() < 0 && !this.#isUnsaved(madeMs))
      report('I6', `${where} is said to be ready, and its readiness probe never passed`);
    const limit = (spec.readinessProbe.failureThreshold ?? 3) + 1;
    if (tally.failedInRow > limit && tally.firstFailedMs > (node.agent?.startedMs ?? 0) && !execDisturbed())
      report('I6', `${where} is said to be ready after ${tally.failedInRow} failed readiness probes in a row`);
  }

  /** Whether this happened at the moment of the last agent's end, so that it could not be recorded. */
  #isUnsaved(atMs: number): boolean {
    const { lastEndMs } = this.#parts.node;
    return lastEndMs >= atMs && lastEndMs - atMs < UNSAVED_MS;
  }

  #judgeUnready(pod: Pod, container: ContainerStatus): void {
    const { report, instance, execDisturbed, node, wantedSince, stateLostMs } = this.#parts;
    const tally = instance(bareId(container.containerID))?.tally;
    const record = node.runtime.containerById(bareId(container.containerID));
    if (tally === undefined || record === undefined || record.dead || !record.sandbox.ready) return;
    if (!wantedSince(pod.metadata.uid, node.clock.monotonicMs()) || execDisturbed()) return;
    // Said in the moment of a kill -9, so that it could not be written any more.
    if (
      this.#isUnsaved(tally.readiness.firstPassedMs) ||
      this.#isUnsaved(tally.startup.firstPassedMs) ||
      stateLostMs() > 0
    )
      return;
    if (tally.readiness.failedInRow === 0)
      report(
        'I6',
        `${pod.metadata.name}/${container.name} was said to be not ready any more, and no probe of it failed`,
      );
  }
}

function statusesOf(status: PodStatus): ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}

function specOf(pod: Pod, name: string): Container | undefined {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((container) => container.name === name);
}
