import { Buffer } from 'node:buffer';
import type { Clock } from '../../../base/clock.ts';
import { sleep, withDeadline } from '../../../base/clock.ts';
import { errorKind, errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import type { HTTPGetAction, LifecycleHandler } from '../../../api/core/probe.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { goQuote } from '../../../api/go-quote.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { isHostNetwork, podFullName } from '../../../api/pod.ts';
import { containerEvents } from '../../../api/reasons.ts';
import { httpActionRequest } from '../../model/http-action.ts';
import type { ContainerId } from '../../model/ids.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';

/** The size limit of a hook's output in the log and in its message. */
const OUTPUT_LIMIT_BYTES = 10 * 1024;
/** The time limit of a hook's connection. Hooks have no time limit, so it only ends a forgotten connection. */
const NO_LIMIT_MS = 24 * 3_600_000;

export interface HookTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly id: ContainerId;
  /** The address for httpGet hooks; undefined if unknown or if the pod is on the host's network. */
  readonly podIp?: string;
  /**
   * Whether an abort only ends the wait for an exec hook, while its command runs as long as its container (upstream:
   * preStop hooks).
   */
  readonly runsOn?: boolean;
}

/**
 * The result of a hook. `message` is for the log and the container's waiting message, and may contain output of the
 * hook.
 */
export type HookOutcome = { ok: true } | { ok: false; message: string };

export interface HookRunnerOptions {
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly dial: Pick<NetDial, 'httpProbe'>;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the node's address, for httpGet hooks of pods on the host's network. */
  readonly hostIp: () => string;
  /** Called when a hook did not run as configured: https was repeated over http, or a sleep was cut short. */
  readonly onSpecialCase?: (specialCase: 'httpFallback' | 'sleepCutShort') => void;
}

/**
 * Runs postStart and preStop hooks (upstream: lifecycle/handlers.go). Exec and sleep hooks run to their end, an httpGet
 * hook succeeds with any answer, and a tcpSocket hook fails. An https hook answered in plain HTTP is repeated over
 * http.
 */
export class HookRunner {
  readonly #options: HookRunnerOptions;

  constructor(options: HookRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs one handler to its end. A failure is a value and records no event. It rejects only with `Aborted`, when
   * `signal` aborts.
   */
  async run(target: HookTarget, handler: LifecycleHandler, signal: AbortSignal): Promise<HookOutcome> {
    const { log } = this.#options;
    try {
      const failure = await this.#handle(target, handler, signal);
      if (signal.aborted) throw new KubeletError('Aborted', 'the hook was aborted');
      if (failure === undefined) return { ok: true };
      log.debug(1, 'lifecycle hook failed', {
        pod: podFullName(target.pod),
        container: target.container.name,
        error: failure,
      });
      return { ok: false, message: failure };
    } catch (error) {
      if (signal.aborted || isKind(error, 'Aborted'))
        throw new KubeletError('Aborted', 'the hook was aborted', { cause: error });
      return { ok: false, message: errorMessage(error) };
    }
  }

  /**
   * Runs the postStart hook, if there is one. A failure records the event FailedPostStartHook, and the caller then
   * kills the container.
   */
  async postStart(target: HookTarget, signal: AbortSignal): Promise<HookOutcome> {
    const handler = target.container.lifecycle?.postStart;
    if (handler === undefined) return { ok: true };
    const outcome = await this.run(target, handler, signal);
    if (!outcome.ok) this.#event(target, containerEvents.failedPostStartHook, 'PostStartHook failed');
    return outcome;
  }

  /**
   * Runs the preStop hook, if there is one, for at most `limitMs` (the rest of the grace period). It never rejects,
   * because the container is stopped whatever the result. Returns the milliseconds it took, which count against the
   * grace period.
   */
  async preStop(
    target: HookTarget,
    limits: { limitMs: number; signal?: AbortSignal },
  ): Promise<{ outcome: HookOutcome | 'unfinished'; tookMs: number }> {
    const { clock, log } = this.#options;
    const handler = target.container.lifecycle?.preStop;
    const startMs = clock.monotonicMs();
    const took = (): number => clock.monotonicMs() - startMs;
    if (handler === undefined) return { outcome: { ok: true }, tookMs: 0 };
    try {
      const outcome = await withDeadline(
        { clock, limitMs: limits.limitMs, op: 'preStop hook', signal: limits.signal },
        (signal) => this.run(target, handler, signal),
      );
      if (!outcome.ok) this.#event(target, containerEvents.failedPreStopHook, 'PreStopHook failed');
      return { outcome, tookMs: took() };
    } catch (error) {
      log.debug(2, 'preStop hook not completed in grace period', {
        pod: podFullName(target.pod),
        container: target.container.name,
        graceMs: limits.limitMs,
        why: errorKind(error),
      });
      return { outcome: 'unfinished', tookMs: took() };
    }
  }

  /** Runs a handler. Returns undefined for a success, else the message. */
  async #handle(target: HookTarget, handler: LifecycleHandler, signal: AbortSignal): Promise<string | undefined> {
    if (handler.exec !== undefined) return this.#exec(target, handler.exec.command ?? [], signal);
    if (handler.httpGet !== undefined) return this.#httpGet(target, handler.httpGet, signal);
    if (handler.sleep !== undefined) {
      try {
        await sleep(this.#options.clock, Number(handler.sleep.seconds) * 1000, signal);
      } catch (error) {
        this.#options.onSpecialCase?.('sleepCutShort');
        throw error;
      }
      return undefined;
    }
    // The API accepts a tcpSocket of old manifests. Upstream has no such hook, so it fails when it should run.
    return `Cannot run handler: invalid handler${handler.tcpSocket === undefined ? '' : ': tcpSocket'}`;
  }

  async #exec(target: HookTarget, command: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    const failed = (error: string, output: string): string =>
      `Exec lifecycle hook ([${command.join(' ')}]) for Container "${target.container.name}" in Pod "${podName(target.pod)}" failed - error: ${error}, message: ${goQuote(output)}`;
    try {
      const { stdout, stderr, exitCode } = await untilAborted(
        this.#options.runtime.execSync(target.id, command, 0, target.runsOn === true ? {} : { signal }),
        signal,
      );
      const output = Buffer.concat([stdout, stderr]).subarray(0, OUTPUT_LIMIT_BYTES).toString('utf8');
      return exitCode === 0
        ? undefined
        : failed(
            `command '${command.join(' ')}' exited with ${exitCode}: ${Buffer.from(stderr).toString('utf8', 0, OUTPUT_LIMIT_BYTES)}`,
            output,
          );
    } catch (error) {
      if (signal.aborted) throw error;
      return failed(errorMessage(error), '');
    }
  }

  async #httpGet(target: HookTarget, action: HTTPGetAction, signal: AbortSignal): Promise<string | undefined> {
    const { dial } = this.#options;
    try {
      const podIp = this.#addressOf(target, action);
      const request = httpActionRequest(action, target.container, { podIp, purpose: 'lifecycle' });
      try {
        await untilAborted(dial.httpProbe({ ...request, timeoutMs: NO_LIMIT_MS }, signal), signal);
      } catch (error) {
        if (request.scheme !== 'https' || !isKind(error, 'Invalid')) throw error;
        // Credentials of an encrypted request must not be sent unencrypted.
        const headers = request.headers.filter((header) => header.name.toLowerCase() !== 'authorization');
        await untilAborted(
          dial.httpProbe({ ...request, scheme: 'http', headers, timeoutMs: NO_LIMIT_MS }, signal),
          signal,
        );
        this.#options.onSpecialCase?.('httpFallback');
        const where = `${request.host.includes(':') ? `[${request.host}]` : request.host}:${request.port}`;
        this.#options.recorder.event(
          target.pod,
          'Warning',
          containerEvents.lifecycleHTTPFallback,
          `request to HTTPS lifecycle hook ${where} got HTTP response, retry with HTTP succeeded`,
        );
      }
      return undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      return `HTTP lifecycle hook (${action.path ?? ''}) for Container "${target.container.name}" in Pod "${podName(target.pod)}" failed - error: ${errorMessage(error)}`;
    }
  }

  /** Returns the address of an httpGet hook. An empty host would connect to this machine. */
  #addressOf({ pod, podIp }: HookTarget, action: HTTPGetAction): string {
    const own = isHostNetwork(pod) ? this.#options.hostIp() : (podIp ?? '');
    if (own === '' && (action.host ?? '') === '')
      throw new KubeletError('Internal', 'failed to find networking container: the pod has no address');
    return own;
  }

  /** Records the failure as an event, without the hook's output, which may contain secrets. */
  #event(target: HookTarget, reason: string, message: string): void {
    this.#options.recorder.event(target.pod, 'Warning', reason, message, target.container.name);
  }
}

const podName = (pod: Pod): string => `${podFullName(pod)}(${pod.metadata.uid})`;
