import type { Pod } from '../../../api/core/pod.ts';
import { formatDurationMs } from '../../../api/duration.ts';
import { allContainers } from '../../../api/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { podEvents } from '../../../api/reasons.ts';
import { isKind } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { PodActions } from './plan/compute-pod-actions.ts';
import { computePodActions } from './plan/compute-pod-actions.ts';
import { isResizeUnderWay } from './plan/compute-resize.ts';
import { ConfigBuilder } from './execute/config-builder.ts';
import type { PodRuntimeDeps } from './deps.ts';
import { StepExecutors } from './execute/execute-actions.ts';
import type { KillOutcome, KillPodRequest } from './execute/kill-pod.ts';
import { PodKiller } from './execute/kill-pod.ts';
import type { PlanFacts } from './plan/plan-facts.ts';
import { PodResizer } from './execute/pod-resizer.ts';
import { CrashBackoff, crashBackoffConfig } from './plan/crash-backoff.ts';
import { SandboxMaker } from './execute/sandbox.ts';
import { ContainerStarter } from './execute/start-container.ts';
import { StartFailures } from './start-failures.ts';
import { StartPacer } from './start-pacer.ts';
import { normaliseStatus } from './status-fold.ts';
import type { Step, Wait } from './plan/steps.ts';
import { resizeKey } from './plan/steps.ts';
import type { SyncFailure, SyncOutcome, SyncPodRequest } from './sync-run.ts';
import { SyncRun } from './sync-run.ts';

/**
 * Brings what runs in line with what a pod asks for (upstream: kuberuntime SyncPod and KillPod).
 * 1. One pass at a time per pod; the pod worker ensures that.
 * 2. A pass plans, acts, and plans again with the results, until nothing is left that it has not tried. Each container
 *    gets one try.
 * 3. Failures and waits are values in the outcome. Only programming errors reject.
 * 4. After a failure that may have had an effect, the cache is asked to read the pod again; nothing is started before
 *    that.
 * 5. Images, volumes and files are begun before the sandbox is created; containers start in order.
 */
export class PodRuntime {
  /** The reasons why containers could not be started, for status and explain. */
  readonly startFailures = new StartFailures();
  readonly startPacer: StartPacer;
  readonly stopPacer: StartPacer;
  readonly #deps: PodRuntimeDeps;
  readonly #backoff: CrashBackoff;
  readonly #killer: PodKiller;
  readonly #resizer: PodResizer;
  readonly #executors: StepExecutors;

  constructor(deps: PodRuntimeDeps) {
    const { clock, cores } = deps;
    this.#deps = deps;
    this.startPacer = new StartPacer({ clock, cores });
    this.stopPacer = new StartPacer({ clock, cores });
    this.#backoff = new CrashBackoff(
      clock,
      crashBackoffConfig(deps.maxContainerRestartPeriodMs, deps.reducedCrashDecay),
    );
    this.#killer = new PodKiller(deps, this.stopPacer);
    this.#resizer = new PodResizer(deps);
    const sandboxes = new SandboxMaker(deps, this.startPacer);
    const builder = new ConfigBuilder(deps, sandboxes);
    const starter = new ContainerStarter(deps, builder, this.#killer);
    this.#executors = new StepExecutors({
      deps,
      pacer: this.startPacer,
      backoff: this.#backoff,
      failures: this.startFailures,
      sandboxes,
      starter,
      builder,
      killer: this.#killer,
      resizer: this.#resizer,
    });
  }

  /** Syncs a pod that should run once. An abort is part of the outcome. */
  async syncPod(request: SyncPodRequest): Promise<SyncOutcome> {
    const run = new SyncRun(request, normaliseStatus(request.status));
    this.#backoff.adopt(run.pod, run.status);
    this.#resizer.adopt(run.pod, run.status);
    let known = false;
    try {
      await this.#resizer.look(run);
      await this.#converge(run);
      known = true;
      return run.outcome(false);
    } catch (error) {
      if (!isKind(error, 'Aborted') && !run.signal.aborted) throw error;
      return run.outcome(true);
    } finally {
      run.slot?.release();
      if (run.resize !== undefined)
        this.#deps.resize?.onDone?.(run.resize.untilMs - run.resize.fromMs, !run.resizeFailed);
      if (!known || run.failures.some(leavesDoubt)) this.#deps.cache.noteUnsure(run.uid);
    }
  }

  /**
   * Stops everything of a pod, whether a source knows it or not. A second call with a shorter grace, after an abort,
   * shortens the running stop.
   */
  killPod(request: KillPodRequest): Promise<KillOutcome> {
    return this.#killer.killPod({ ...request, status: normaliseStatus(request.status) });
  }

  /**
   * Returns the handler of the pod's RuntimeClass, or '' for none. Rejects with `NotFound` for a class that does not
   * exist.
   */
  async runtimeHandlerOf(pod: Pod): Promise<string> {
    return this.#deps.handlers.lookup(pod);
  }

  /** Returns the steps of a sync now, and what would wait. It changes nothing. */
  plan(pod: Pod, status: PodRuntimeStatus): { steps: readonly Step[]; waits: readonly Wait[] } {
    const { steps, waits } = computePodActions(this.#facts(pod, normaliseStatus(status)));
    return { steps, waits };
  }

  /** Whether something that runs of the pod does not match the allocated resources of `pod` yet. */
  isResizeUnderWay(pod: Pod, status: PodRuntimeStatus): boolean {
    const actuated = this.#resizer.facts(pod);
    return actuated !== undefined && isResizeUnderWay(pod, normaliseStatus(status), actuated);
  }

  /** Ends the crash back-off of a container, or of all containers of the pod, so that the next sync starts them. */
  retryNow(pod: Pod, container?: string): void {
    for (const ref of allContainers(pod))
      if (container === undefined || ref.container.name === container) this.#backoff.reset(pod, ref.container);
  }

  /** Drops the state of a pod that was removed. */
  forgetPod(uid: PodUid, status?: PodRuntimeStatus): void {
    this.startFailures.forgetPod(uid);
    this.#backoff.forgetPod(uid);
    this.#resizer.forgetPod(uid);
    if (status !== undefined) this.#killer.forgetContainers(status);
  }

  async #converge(run: SyncRun): Promise<void> {
    // Each round tries something new or is the last one. The bound only guards against bugs.
    const rounds = 3 + 2 * [...allContainers(run.pod)].length;
    for (let round = 0; round < rounds; round++) {
      const actions = computePodActions(this.#facts(run.pod, run.status));
      run.waits = actions.waits;
      const steps = actions.steps.filter((step) => !wasTried(run, step));
      if (round === 0) this.#executors.noteWaits(run, formatDurationMs);
      if (steps.length === 0) return;
      if (!(await this.#act(run, actions, steps))) return;
    }
  }

  /** Executes the steps. Returns whether to plan again. */
  async #act(run: SyncRun, actions: PodActions, steps: readonly Step[]): Promise<boolean> {
    const { sandbox } = actions;
    if (sandbox?.kind === 'keep')
      run.sandbox = { id: sandbox.sandbox.id, attempt: sandbox.sandbox.attempt, ips: sandbox.sandbox.ips };
    if (
      sandbox?.kind === 'create' &&
      sandbox.replaces !== undefined &&
      sandbox.reason !== 'network-mode-changed' &&
      steps.some((step) => step.kind === 'createSandbox')
    ) {
      this.#deps.events.event(
        run.pod,
        'Normal',
        podEvents.sandboxChanged,
        'Pod sandbox changed, it will be killed and re-created.',
      );
    }
    run.planned = run.status;
    this.#executors.begin(run, steps);
    for (const step of steps) if ((await this.#executors.execute(run, step)) === 'stop') return false;
    // A pod that was stopped because nothing is left to run is not planned again in this pass.
    return sandbox !== undefined;
  }

  #facts(pod: Pod, status: PodRuntimeStatus): PlanFacts {
    const actuated = this.#resizer.facts(pod);
    return {
      pod,
      status,
      probe: (type, id) => this.#deps.probes.get(type, id),
      crashWait: (container: AnyContainer, exited) => this.#backoff.wait(pod, container, exited),
      nowMs: this.#deps.clock.nowMs(),
      ...(actuated === undefined ? {} : { actuated }),
    };
  }
}

/**
 * Whether a failed call to the runtime may have taken effect. A failure with its own retry time never reached a call.
 */
function leavesDoubt(failure: SyncFailure): boolean {
  return failure.scope !== 'volumes' && failure.scope !== 'resize' && failure.retryAtMs === undefined;
}

/** Whether this sync has already tried the step. */
function wasTried(run: SyncRun, step: Step): boolean {
  switch (step.kind) {
    case 'killPod':
    case 'createSandbox':
      return run.tried.has('sandbox');
    case 'killContainer':
    case 'removeContainer':
      return run.tried.has(`${step.kind} ${step.id}`);
    case 'resizePod':
    case 'resizeContainer':
      return run.tried.has(resizeKey(step));
    case 'startContainer':
      return run.tried.has(step.name) || (run.tried.has('sandbox') && run.sandbox === undefined);
  }
}
