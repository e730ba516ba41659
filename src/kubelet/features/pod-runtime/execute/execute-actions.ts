import { findContainer } from '../../../../api/pod.ts';
import { containerEvents, volumeEvents, waitingReasons } from '../../../../api/reasons.ts';
import { errorMessage, ignoreNotFound, isKind } from '../../../../base/errors.ts';
import { isGivenUp } from '../plan/compute-pod-actions.ts';
import type { ConfigBuilder } from './config-builder.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import type { PodKiller } from './kill-pod.ts';
import type { PodResizer } from './pod-resizer.ts';
import type { CrashBackoff } from '../plan/crash-backoff.ts';
import { resetSources } from '../plan/restart-policy.ts';
import type { SandboxMaker } from './sandbox.ts';
import type { ContainerStarter } from './start-container.ts';
import type { StartFailures } from '../start-failures.ts';
import type { StartPacer } from '../start-pacer.ts';
import type { Step, StepKind, StepOf } from '../plan/steps.ts';
import { describeStep, resizeKey } from '../plan/steps.ts';
import type { SyncRun } from '../sync-run.ts';
import { VolumesFailed } from '../sync-run.ts';

/** Whether to continue with the next step. `stop`: the remaining steps are pointless now. */
export type StepVerdict = 'next' | 'stop';
export type Executors = { [K in StepKind]: (run: SyncRun, step: StepOf<K>) => Promise<StepVerdict> };

export interface ExecutorParts {
  readonly deps: PodRuntimeDeps;
  readonly pacer: StartPacer;
  readonly backoff: CrashBackoff;
  readonly failures: StartFailures;
  readonly sandboxes: SandboxMaker;
  readonly starter: ContainerStarter;
  readonly builder: ConfigBuilder;
  readonly killer: PodKiller;
  readonly resizer: PodResizer;
}

/**
 * Executes the plan, one executor per kind of step. Expected failures are noted in the run; executors reject only with
 * `Aborted`.
 */
export class StepExecutors {
  readonly #parts: ExecutorParts;
  readonly #executors: Executors;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    this.#executors = {
      killPod: (run, step) => this.#killPod(run, step),
      createSandbox: (run, step) => this.#createSandbox(run, step),
      killContainer: (run, step) => this.#killContainer(run, step),
      removeContainer: (run, step) => this.#removeContainer(run, step),
      resizePod: (run, step) => this.#resize(run, step, (resizer) => resizer.resizePod(run, step)),
      resizeContainer: (run, step) => this.#resize(run, step, (resizer) => resizer.resizeContainer(run, step)),
      startContainer: (run, step) => this.#startContainer(run, step),
    };
  }

  async execute(run: SyncRun, step: Step): Promise<StepVerdict> {
    this.#record(run, 'decision', 'Normal', step.kind, describeStep(step));
    run.done.push(step);
    return this.#dispatch(run, step);
  }

  /** Calls the executor of the step. Only a generic function ties each kind to its own step. */
  #dispatch<K extends StepKind>(run: SyncRun, step: StepOf<K>): Promise<StepVerdict> {
    const execute = this.#executors[step.kind as K] as (run: SyncRun, step: StepOf<K>) => Promise<StepVerdict>;
    return execute(run, step);
  }

  async #killPod(run: SyncRun, step: StepOf<'killPod'>): Promise<StepVerdict> {
    const { pod, status, signal } = run;
    const outcome = await this.#parts.killer.killPod({ pod, status, signal });
    run.status = outcome.status;
    for (const failure of outcome.failures) run.fail(failure);
    signal.throwIfAborted();
    this.#result(run, step.kind, outcome.failures[0]?.message);
    if (outcome.failures.length > 0) return 'stop';
    // All containers may have ended successfully by being stopped. Then the pod's phase is final, and no container may
    // be started.
    return isGivenUp(pod, run.status) ? 'stop' : 'next';
  }

  async #createSandbox(run: SyncRun, step: StepOf<'createSandbox'>): Promise<StepVerdict> {
    run.tried.add('sandbox');
    const made = await this.#parts.sandboxes.create(run, step);
    if (made) this.#parts.resizer.noteSandbox(run);
    this.#result(run, step.kind, made ? undefined : run.failures.at(-1)?.message);
    return made ? 'next' : 'stop';
  }

  async #killContainer(run: SyncRun, step: StepOf<'killContainer'>): Promise<StepVerdict> {
    run.tried.add(`${step.kind} ${step.id}`);
    const container = run.status.containers.find((candidate) => candidate.id === step.id);
    if (container === undefined) return 'next';
    if (step.reason === 'RestartAllContainers') this.#noteReset(run);
    const { pod, status, signal } = run;
    try {
      const fold = await this.#parts.killer.killContainer({
        pod,
        status,
        signal,
        container,
        reason: step.reason,
        message: step.message,
        graceMs: step.graceMs,
      });
      run.status = fold(run.status);
      this.#result(run, step.kind, undefined);
      return 'next';
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      run.fail({
        scope: 'kill',
        container: step.name,
        reason: waitingReasons.killContainerError,
        message: errorMessage(error),
      });
      this.#result(run, step.kind, errorMessage(error));
      // A container that may still run must never get a second instance.
      return 'stop';
    }
  }

  async #removeContainer(run: SyncRun, step: StepOf<'removeContainer'>): Promise<StepVerdict> {
    run.tried.add(`${step.kind} ${step.id}`);
    if (step.reason === 'restart-all') this.#noteReset(run);
    const { runtime, cache, log } = this.#parts.deps;
    try {
      await ignoreNotFound(runtime.removeContainer(step.id, { signal: run.signal }));
      run.dropContainer(step.id);
      cache.noteContainerRemoved(run.uid, step.id);
      return 'next';
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      log.warn('could not remove an ended container', {
        pod: run.pod.metadata.name,
        container: step.name,
        error: errorMessage(error),
      });
      if (step.reason !== 'restart-all') return 'next';
      run.fail({ scope: 'kill', container: step.name, reason: 'RemoveContainerError', message: errorMessage(error) });
      this.#result(run, step.kind, errorMessage(error));
      return 'stop';
    }
  }

  #noteReset(run: SyncRun): void {
    for (const { container, exited } of resetSources(run.pod, run.status))
      this.#parts.backoff.noteReset(run.pod, container, exited);
  }

  async #startContainer(run: SyncRun, step: StepOf<'startContainer'>): Promise<StepVerdict> {
    run.tried.add(step.name);
    const { pacer, backoff, failures, starter, deps } = this.#parts;
    const container = findContainer(run.pod, step.name)?.container;
    if (container === undefined) return 'next';
    // The planned status decides: a container that was just killed has not crashed.
    const exited = run.planned.containers.find(
      (candidate) => candidate.name === step.name && candidate.state === 'exited',
    );
    if (exited !== undefined && step.role !== 'ephemeral') backoff.noteStart(run.pod, container, exited);
    try {
      await run.takeSlot(pacer);
      const failure = await starter.start(run, container, step);
      if (failure === undefined) {
        failures.clear(run.uid, step.name);
        if (step.adopt === undefined) await this.#parts.resizer.noteStarted(run, container);
        else this.#parts.resizer.adopt(run.pod, run.status);
        this.#result(run, step.kind, undefined);
        return 'next';
      }
      run.fail({ scope: 'container', container: step.name, ...failure });
      failures.set(run.uid, step.name, failure);
      deps.onChange(run.uid, { kind: 'failure' });
      this.#result(run, step.kind, `${step.name}: ${failure.reason}: ${failure.message}`);
      // Containers after an init container wait for it. After other containers, the sync continues.
      return step.role === 'init' ? 'stop' : 'next';
    } catch (error) {
      if (!(error instanceof VolumesFailed)) throw error;
      deps.events.event(run.pod, 'Warning', volumeEvents.failedMount, error.message);
      run.fail({ scope: 'volumes', reason: volumeEvents.failedMount, message: error.message });
      this.#result(run, step.kind, error.message);
      return 'stop';
    }
  }

  /** Resizes. If it fails, the next sync retries it, and the rest of this sync continues. */
  async #resize(
    run: SyncRun,
    step: StepOf<'resizePod' | 'resizeContainer'>,
    work: (resizer: PodResizer) => Promise<string | undefined>,
  ): Promise<StepVerdict> {
    const { clock } = this.#parts.deps;
    run.tried.add(resizeKey(step));
    const fromMs = run.resize?.fromMs ?? clock.monotonicMs();
    const failure = await work(this.#parts.resizer);
    run.resize = { fromMs, untilMs: clock.monotonicMs() };
    if (!run.resizeFailed || failure !== undefined) this.#result(run, step.kind, failure);
    this.#parts.deps.onChange(run.uid, { kind: 'resize' });
    return 'next';
  }

  /** Starts to prepare what the plan's starts will need, while earlier steps still run. */
  begin(run: SyncRun, steps: readonly Step[]): void {
    const starting = new Set<string>();
    for (const step of steps) {
      if (step.kind !== 'startContainer') continue;
      starting.add(step.name);
      const container = findContainer(run.pod, step.name)?.container;
      if (container !== undefined && step.adopt === undefined) this.#parts.builder.begin(run, container);
    }
    if (!steps.some((step) => step.kind === 'createSandbox')) return;
    const later = [...(run.pod.spec.initContainers ?? []), ...run.pod.spec.containers].filter(
      ({ name }) => !starting.has(name),
    );
    if (later.length > 0) this.#parts.deps.images.prefetch(run.pod, later, run.signal);
  }

  /** Reports a container in back-off: as an event and as its waiting reason. */
  noteWaits(run: SyncRun, describe: (delayMs: number) => string): void {
    const { deps, failures } = this.#parts;
    const { name, namespace, uid } = run.pod.metadata;
    for (const wait of run.waits) {
      const where = `${name}_${namespace}(${uid})`;
      deps.events.event(
        run.pod,
        'Warning',
        containerEvents.backOff,
        `Back-off restarting failed container ${wait.container} in pod ${where}`,
        wait.container,
      );
      const message = `back-off ${describe(wait.delayMs)} restarting failed container=${wait.container} pod=${where}`;
      failures.set(run.uid, wait.container, {
        reason: waitingReasons.crashLoopBackOff,
        message,
        retryAtMs: wait.untilMs,
      });
    }
  }

  #result(run: SyncRun, reason: StepKind, failure: string | undefined): void {
    if (failure === undefined) this.#record(run, 'result', 'Normal', reason, 'done');
    else this.#record(run, 'result', 'Warning', reason, failure);
  }

  #record(
    run: SyncRun,
    kind: 'decision' | 'result',
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    this.#parts.deps.timeline.record(run.uid, { kind, type, reason, message });
  }
}
