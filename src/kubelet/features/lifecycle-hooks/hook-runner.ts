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

/** Limit of a hook's output, in the log and in its message. */
const OUTPUT_LIMIT_BYTES = 10 * 1024;
/** Hooks have no time limit of their own; this only ends a forgotten connection. */
const NO_LIMIT_MS = 24 * 3_600_000;

export interface HookTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly id: ContainerId;
  /** Address for httpGet hooks; undefined when unknown, and not needed on the host's network. */
  readonly podIp?: string;
  /**
   * An abort only ends the wait for an exec hook: its command runs on for as long as its container does (upstream:
   * preStop hooks).
   */
  readonly runsOn?: boolean;
}

/** `message` is for the log and the container's waiting message: it may hold output of the hook. */
export type HookOutcome = { ok: true } | { ok: false; message: string };

export interface HookRunnerOptions {
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly dial: Pick<NetDial, 'httpProbe'>;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  /** The node's address, for httpGet hooks of pods on the host's network. */
  readonly hostIp: () => string;
  /** A hook did not run as configured: https was repeated over http, or a sleep was cut short. */
  readonly onOddity?: (oddity: 'httpFallback' | 'sleepCutShort') => void;
}

/**
 * Runs postStart and preStop hooks (upstream: lifecycle/handlers.go). Exec and sleep run to their end, an httpGet hook
 * succeeds with any answer, tcpSocket fails. An https hook answered in plain HTTP is repeated over http.
 */
export class HookRunner {
  readonly #options: HookRunnerOptions;

  constructor(options: HookRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs one handler to its end. A failure is a value and leaves no event; rejects only with `Aborted`, when `signal`
   * aborts.
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
   * The postStart hook, if there is one; a failure leaves the event FailedPostStartHook. The caller kills the container
   * then.
   */
  async postStart(target: HookTarget, signal: AbortSignal): Promise<HookOutcome> {
    const handler = target.container.lifecycle?.postStart;
    if (handler === undefined) return { ok: true };
    const outcome = await this.run(target, handler, signal);
    if (!outcome.ok) this.#event(target, containerEvents.failedPostStartHook, 'PostStartHook failed');
    return outcome;
  }

  /**
   * The preStop hook, if there is one, for at most `limitMs` (the rest of the grace). Never rejects: the container is
   * stopped whatever the result of the hook. Returns the milliseconds it took, which count against the grace.
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

  /** undefined for a success, else the message. */
  async #handle(target: HookTarget, handler: LifecycleHandler, signal: AbortSignal): Promise<string | undefined> {
    if (handler.exec !== undefined) return this.#exec(target, handler.exec.command ?? [], signal);
    if (handler.httpGet !== undefined) return this.#httpGet(target, handler.httpGet, signal);
    if (handler.sleep !== undefined) {
      try {
        await sleep(this.#options.clock, Number(handler.sleep.seconds) * 1000, signal);
      } catch (error) {
        this.#options.onOddity?.('sleepCutShort');
        throw error;
      }
      return undefined;
    }
    // The API accepts a tcpSocket from old manifests; upstream has no such hook, so it fails when it should run.
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
        this.#options.onOddity?.('httpFallback');
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

  /** An empty host would connect to this machine. */
  #addressOf({ pod, podIp }: HookTarget, action: HTTPGetAction): string {
    const own = isHostNetwork(pod) ? this.#options.hostIp() : (podIp ?? '');
    if (own === '' && (action.host ?? '') === '')
      throw new KubeletError('Internal', 'failed to find networking container: the pod has no address');
    return own;
  }

  /** The event reports only the failure: the hook's output may contain secrets. */
  #event(target: HookTarget, reason: string, message: string): void {
    this.#options.recorder.event(target.pod, 'Warning', reason, message, target.container.name);
  }
}

const podName = (pod: Pod): string => `${podFullName(pod)}(${pod.metadata.uid})`;
