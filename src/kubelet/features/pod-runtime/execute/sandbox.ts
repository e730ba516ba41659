import type { Pod } from '../../../../api/core/pod.ts';
import { podEvents, waitingReasons } from '../../../../api/reasons.ts';
import { errorKind, errorMessage, isKind } from '../../../../base/errors.ts';
import type { SandboxId } from '../../../model/ids.ts';
import type { SandboxConfig } from '../../../ports/runtime.ts';
import { findSandboxOf, isNameTaken, mayExistAfter } from './adopt.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import type { DnsConfig, DnsRemark } from '../config/dns-config.ts';
import { computePodDns } from '../config/dns-config.ts';
import { settleGroup } from './pod-resizer.ts';
import { podLogDirectory, sandboxConfig } from '../config/sandbox-config.ts';
import { formatPod } from '../config/security-config.ts';
import type { StartPacer } from '../start-pacer.ts';
import type { StepOf } from '../plan/steps.ts';
import type { SyncRun } from '../sync-run.ts';

const MAX_TRIES = 3;

/**
 * Creates a pod's sandbox. The outcome of a call that timed out is unknown: the runtime's list decides, and a sandbox
 * of this pod is adopted. The configuration is needed again for each container, so it is also built for sandboxes that
 * are kept.
 */
export class SandboxMaker {
  readonly #deps: PodRuntimeDeps;
  readonly #pacer: StartPacer;

  constructor(deps: PodRuntimeDeps, pacer: StartPacer) {
    this.#deps = deps;
    this.#pacer = pacer;
  }

  /**
   * Creates the sandbox. Returns whether the pod has one now. A failure is recorded in the run; it rejects only with
   * `Aborted`.
   */
  async create(run: SyncRun, step: StepOf<'createSandbox'>): Promise<boolean> {
    const { events, clock, log } = this.#deps;
    try {
      // The slot is awaited first. Otherwise the following work would run for all waiting pods at once and delay the
      // first of them.
      const slot = await run.takeSlot(this.#pacer);
      const [handler, { dns, remarks }, placed] = await Promise.all([
        this.runtimeHandler(run),
        this.#dns(run.pod),
        run.placement(),
        this.#makeLogDirectory(run.pod),
      ]);
      const { placement, node } = { placement: placed, node: this.#deps.node() };
      if (placed.groupExisted === true && this.#deps.resize !== undefined)
        await settleGroup(run.pod, this.#deps.resize.cgroups);
      const configOf = (attempt: number): SandboxConfig =>
        sandboxConfig(run.pod, attempt, { settings: this.#deps.settings, node, placement, dns });
      const beganMs = clock.monotonicMs();
      const made = await this.#runUntilKnown(run, configOf, { attempt: step.attempt, handler });
      slot.observe(clock.monotonicMs() - beganMs);
      run.sandboxConfig = made.config;
      // The remarks are reported for a sandbox that was created, not with each attempt nor with each container in it.
      for (const { about, reason, message } of remarks) {
        if (about === 'node') events.nodeEvent('Warning', reason, message);
        else events.event(run.pod, 'Warning', reason, message);
      }
      await this.#learn(run, made.id);
      return true;
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      const message = errorMessage(error);
      log.error('could not create the pod sandbox', {
        pod: run.pod.metadata.name,
        namespace: run.pod.metadata.namespace,
        error: message,
      });
      events.event(run.pod, 'Warning', podEvents.failedCreatePodSandBox, `Failed to create pod sandbox: ${message}`);
      run.fail({
        scope: 'sandbox',
        reason: waitingReasons.createPodSandboxError,
        message: `Failed to create sandbox for pod "${formatPod(run.pod)}": ${message}`,
      });
      this.#deps.onChange(run.uid, { kind: 'failure' });
      return false;
    }
  }

  /** Returns the configuration of the sandbox. If the sandbox already existed, it is built now. */
  async configOf(run: SyncRun): Promise<SandboxConfig> {
    if (run.sandboxConfig !== undefined) return run.sandboxConfig;
    const [{ dns }, placement] = await Promise.all([this.#dns(run.pod), run.placement()]);
    run.sandboxConfig = sandboxConfig(run.pod, run.sandbox?.attempt ?? 0, {
      settings: this.#deps.settings,
      node: this.#deps.node(),
      placement,
      dns,
    });
    return run.sandboxConfig;
  }

  /**
   * Returns the runtime handler. A kept sandbox has the handler with which it was created, so its containers no longer
   * need the class.
   */
  runtimeHandler(run: SyncRun): Promise<string> {
    const kept = run.status.sandboxes.find(({ id }) => id === run.sandbox?.id);
    run.runtimeHandler ??= Promise.resolve().then(() => kept?.runtimeHandler ?? this.#deps.handlers.lookup(run.pod));
    return run.runtimeHandler;
  }

  async #dns(pod: Pod): Promise<{ dns: DnsConfig; remarks: readonly DnsRemark[] }> {
    const { settings } = this.#deps;
    return computePodDns(pod, {
      clusterDomain: settings.clusterDomain,
      clusterDns: settings.clusterDns,
      host: await this.#deps.hostDns(),
      hostIps: this.#deps.node().hostIps,
    });
  }

  #makeLogDirectory(pod: Pod): Promise<void> {
    return this.#deps.files.makeDirectory(podLogDirectory(pod, this.#deps.settings.podLogsDir), 0o755);
  }

  async #runUntilKnown(
    run: SyncRun,
    configOf: (attempt: number) => SandboxConfig,
    first: { attempt: number; handler: string },
  ): Promise<{ id: SandboxId; config: SandboxConfig }> {
    const { runtime, log } = this.#deps;
    const options = { signal: run.signal };
    for (let attempt = first.attempt; ; attempt++) {
      const config = configOf(attempt);
      try {
        return { id: await runtime.runSandbox(config, first.handler, options), config };
      } catch (error) {
        const kind = errorKind(error);
        if (!mayExistAfter(kind)) throw error;
        const found = await findSandboxOf(runtime, { uid: run.uid, attempt }, options);
        if (found?.ready === true) {
          log.info('adopted a sandbox whose creation had been given up', {
            pod: run.pod.metadata.name,
            sandbox: found.id,
            attempt,
          });
          return { id: found.id, config };
        }
        // A sandbox that exists and is not ready keeps its name until garbage collection.
        const taken = found !== undefined || isNameTaken(kind, errorMessage(error));
        if (!taken || attempt + 1 >= first.attempt + MAX_TRIES) throw error;
      }
    }
  }

  async #learn(run: SyncRun, id: SandboxId): Promise<void> {
    const { runtime, events, cache, onChange } = this.#deps;
    try {
      const status = await runtime.sandboxStatus(id, { signal: run.signal });
      run.foldSandbox(status);
      run.sandbox = { id, attempt: status.attempt, ips: status.ips };
      cache.noteSandbox(status, status.ready ? 'own' : 'observed');
    } catch (error) {
      if (!isKind(error, 'Aborted'))
        events.event(
          run.pod,
          'Warning',
          podEvents.failedPodSandBoxStatus,
          `Unable to get pod sandbox status: ${errorMessage(error)}`,
        );
      throw error;
    }
    onChange(run.uid, { kind: 'sandbox', id });
  }
}
