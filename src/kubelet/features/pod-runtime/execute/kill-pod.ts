import type { Pod } from '../../../../api/core/pod.ts';
import { isCriticalPod, podPriority } from '../../../../api/pod.ts';
import { errorMessage, isKind } from '../../../../base/errors.ts';
import { containerEvents, waitingReasons } from '../../../../api/reasons.ts';
import type { ContainerId } from '../../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import type { KillSpec } from './kill-grace.ts';
import { computeKillSpec, MIN_RUNTIME_GRACE_MS } from './kill-grace.ts';
import type { StartPacer, Tracked } from '../start-pacer.ts';
import { track } from '../start-pacer.ts';
import { withContainer, withSandbox, withoutContainer } from '../status-fold.ts';
import type { KillReason } from '../plan/steps.ts';
import { computeTerminationOrder } from '../plan/termination-order.ts';
import { waitWithin } from '../wait-within.ts';

/** The time for which a stop holds its slot: a container that uses its grace must not delay other pods. */
const STOP_LEASE_MS = 250;
const STOP_SANDBOX_LEASE_MS = 2000;

export interface KillPodRequest {
  /** The pod. It is undefined if no source knows it any more; grace and hooks then come from the runtime's records. */
  readonly pod: Pod | undefined;
  readonly status: PodRuntimeStatus;
  /** Overrides every other grace period. */
  readonly graceMs?: number;
  readonly signal: AbortSignal;
}

export interface KillFailure {
  readonly scope: 'kill';
  readonly container?: string;
  readonly reason: string;
  readonly message: string;
}

export interface KillOutcome {
  readonly failures: readonly KillFailure[];
  /** The status after the kill. Every result is in the runtime cache too. */
  readonly status: PodRuntimeStatus;
  /** Whether the kill was aborted first. The stop may be requested again with a shorter grace. */
  readonly aborted: boolean;
}

export interface KillContainerRequest extends KillPodRequest {
  readonly container: ContainerRuntimeStatus;
  readonly reason: KillReason;
  /** The text of the Killing event. The default is "Stopping container NAME". */
  readonly message?: string;
  /** Resolves when the containers that must end first have ended. */
  readonly turn?: Promise<unknown>;
}

/**
 * A running kill. It outlives an abort, so that a new request with less grace repeats neither the hook nor the event.
 */
interface KillInFlight {
  hook?: { done: Tracked<void>; controller: AbortController };
}

type KillDeps = Pick<PodRuntimeDeps, 'runtime' | 'clock' | 'log' | 'hooks' | 'cache' | 'events' | 'onChange'>;

/**
 * Stops containers and pods.
 * 1. preStop runs within the grace; the time it used is subtracted; the runtime always gets at least 2 s.
 * 2. Regular and ephemeral containers stop in parallel; sidecars after them, last one first, as long as the grace
 *    lasts.
 * 3. To shorten the grace, abort and call again. Hooks continue meanwhile and are cut at the new limit.
 * 4. Sandboxes are stopped, never removed: garbage collection does that.
 */
export class PodKiller {
  readonly #deps: KillDeps;
  readonly #pacer: StartPacer;
  readonly #inFlight = new Map<ContainerId, KillInFlight>();

  constructor(deps: KillDeps, pacer: StartPacer) {
    this.#deps = deps;
    this.#pacer = pacer;
  }

  async killPod(request: KillPodRequest): Promise<KillOutcome> {
    const { pod, signal } = request;
    let status = request.status;
    const failures: KillFailure[] = [];
    try {
      const claim = {
        critical: pod !== undefined && isCriticalPod(pod),
        priority: pod === undefined ? 0 : podPriority(pod),
        leaseMs: STOP_LEASE_MS,
      };
      const slot = await this.#pacer.acquire(claim, signal);
      try {
        const results = await this.#killContainers(request, failures);
        for (const fold of results) status = fold(status);
        await slot.renew(STOP_SANDBOX_LEASE_MS);
        for (const fold of await this.#stopSandboxes({ ...request, status }, failures)) status = fold(status);
      } finally {
        slot.release();
      }
    } catch (error) {
      if (!isKind(error, 'Aborted')) throw error;
      return { failures, status, aborted: true };
    }
    return { failures, status, aborted: signal.aborted };
  }

  /**
   * Kills one container. Resolves to the change of the pod's status. Rejects if the container may still run, or with
   * `Aborted`.
   */
  async killContainer(request: KillContainerRequest): Promise<(status: PodRuntimeStatus) => PodRuntimeStatus> {
    const { container, status, signal, reason } = request;
    const { runtime, events, clock } = this.#deps;
    const spec = computeKillSpec(request.pod, status, container, reason);
    const beganMs = clock.monotonicMs();
    const graceMs = request.graceMs ?? spec.graceMs;
    const leftMs = (): number => graceMs - (clock.monotonicMs() - beganMs);
    let flight = this.#inFlight.get(container.id);
    if (flight === undefined) {
      flight = {};
      this.#inFlight.set(container.id, flight);
      events.event(
        spec.pod,
        'Normal',
        containerEvents.killing,
        request.message ?? `Stopping container ${container.name}`,
        container.name,
      );
    }
    if (spec.preStop !== undefined && graceMs > 0 && container.state === 'running')
      await this.#preStop({ request, spec, flight, graceMs });
    if (request.turn !== undefined && leftMs() > 0) await waitWithin(clock, leftMs(), request.turn, signal);
    try {
      await runtime.stopContainer(container.id, Math.max(leftMs(), MIN_RUNTIME_GRACE_MS), { signal });
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      // A stop that timed out or failed may have taken effect, so the runtime's current state decides.
      const after = isKind(error, 'NotFound') ? undefined : await this.#look(container, signal);
      if (after !== undefined && after.state !== 'exited') throw error;
    }
    this.#inFlight.delete(container.id);
    const fold = await this.#noteEnd(status, container, signal);
    this.#deps.onChange(status.uid, { kind: 'container', name: container.name, id: container.id });
    return fold;
  }

  forgetContainers(status: PodRuntimeStatus): void {
    for (const { id } of status.containers) this.#inFlight.delete(id);
  }

  async #killContainers(
    request: KillPodRequest,
    failures: KillFailure[],
  ): Promise<((status: PodRuntimeStatus) => PodRuntimeStatus)[]> {
    const alive = request.status.containers.filter(
      (container) => container.state === 'running' || container.state === 'unknown',
    );
    const order =
      request.pod === undefined
        ? new Map<string, string[]>()
        : computeTerminationOrder(
            request.pod,
            alive.map((container) => container.name),
          );
    const ended = new Map(alive.map((container) => [container.name, Promise.withResolvers<void>()]));
    const kills = alive.map(async (container) => {
      const turn = Promise.all((order.get(container.name) ?? []).map((name) => ended.get(name)?.promise));
      try {
        return await this.killContainer({
          ...request,
          container,
          reason: 'Unknown',
          turn: order.has(container.name) ? turn : undefined,
        });
      } catch (error) {
        if (isKind(error, 'Aborted')) throw error;
        failures.push({
          scope: 'kill',
          container: container.name,
          reason: waitingReasons.killContainerError,
          message: errorMessage(error),
        });
        return (status: PodRuntimeStatus): PodRuntimeStatus => status;
      } finally {
        ended.get(container.name)?.resolve();
      }
    });
    const results = await Promise.allSettled(kills);
    // All kills have ended before an error is thrown, so that none continues without the caller.
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  async #stopSandboxes(
    request: KillPodRequest,
    failures: KillFailure[],
  ): Promise<((status: PodRuntimeStatus) => PodRuntimeStatus)[]> {
    const { runtime, cache, onChange } = this.#deps;
    const { status, signal } = request;
    const folds: ((status: PodRuntimeStatus) => PodRuntimeStatus)[] = [];
    const stops = status.sandboxes.map(async (sandbox) => {
      try {
        await runtime.stopSandbox(sandbox.id, { signal });
      } catch (error) {
        if (isKind(error, 'Aborted')) throw error;
        if (!isKind(error, 'NotFound')) {
          failures.push({ scope: 'kill', reason: waitingReasons.killPodSandboxError, message: errorMessage(error) });
          return;
        }
      }
      const stopped = { ...sandbox, ready: false };
      cache.noteSandbox(stopped);
      folds.push((before) => withSandbox(before, stopped));
      onChange(status.uid, { kind: 'sandbox', id: sandbox.id });
    });
    const results = await Promise.allSettled(stops);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return folds;
  }

  async #preStop(kill: {
    request: KillContainerRequest;
    spec: KillSpec;
    flight: KillInFlight;
    graceMs: number;
  }): Promise<void> {
    const { request, spec, flight, graceMs } = kill;
    flight.hook ??= this.#startHook(request, spec);
    const { done, controller } = flight.hook;
    const inTime = await waitWithin(this.#deps.clock, graceMs, done.promise, request.signal);
    if (inTime) return;
    this.#deps.log.info('preStop hook did not end within the grace period', {
      pod: spec.pod.metadata.name,
      container: spec.container.name,
      graceMs,
    });
    controller.abort();
  }

  #startHook(request: KillContainerRequest, spec: KillSpec): NonNullable<KillInFlight['hook']> {
    const { hooks, events, log } = this.#deps;
    const controller = new AbortController();
    const { pod, container } = spec;
    const podIp = request.status.sandboxes.find((sandbox) => sandbox.id === request.container.sandboxId)?.ips[0];
    const run = async (): Promise<void> => {
      let message = '';
      try {
        const result = await hooks.run(
          { pod, container, id: request.container.id, podIp, runsOn: true },
          spec.preStop ?? {},
          controller.signal,
        );
        if (result.ok) return;
        message = result.message;
      } catch (error) {
        if (isKind(error, 'Aborted')) return;
        message = errorMessage(error);
      }
      log.warn('preStop hook failed', { pod: pod.metadata.name, container: container.name, error: message });
      // The event does not contain the message, which may contain secrets of the container.
      events.event(pod, 'Warning', containerEvents.failedPreStopHook, 'PreStopHook failed', container.name);
    };
    return { done: track(run()), controller };
  }

  async #look(container: ContainerRuntimeStatus, signal: AbortSignal): Promise<ContainerRuntimeStatus | undefined> {
    try {
      return await this.#deps.runtime.containerStatus(container.id, { signal });
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Reads the container's final state once, for status and cache. A failed read does not mean that it still runs. */
  async #noteEnd(
    status: PodRuntimeStatus,
    container: ContainerRuntimeStatus,
    signal: AbortSignal,
  ): Promise<(status: PodRuntimeStatus) => PodRuntimeStatus> {
    const { cache } = this.#deps;
    let end: ContainerRuntimeStatus | undefined;
    try {
      end = await this.#look(container, signal);
    } catch (error) {
      this.#deps.log.warn('could not read how a container ended', {
        container: container.name,
        error: errorMessage(error),
      });
      return (before) => before;
    }
    if (end === undefined) {
      cache.noteContainerRemoved(status.uid, container.id);
      return (before) => withoutContainer(before, container.id);
    }
    const known = end;
    cache.noteContainer(status, known);
    return (before) => withContainer(before, known);
  }
}
