import type { ApiClient } from '../../../api/client/api-client.ts';
import { nodes } from '../../../api/client/resource-types.ts';
import { isOlderVersion } from '../../../api/client/resource-version.ts';
import type { Node } from '../../../api/core/node.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';
import type { ComputedNode } from './compute-node.ts';
import { isReady } from './compute-node.ts';
import type { NodeEventMessage } from './node-events.ts';
import { computeNodeEvents, schedulableEvent } from './node-events.ts';
import { computeNodePatch, nodeHasChanged } from './node-patch.ts';
import type { NodeStartup } from './node-startup.ts';
import type { NodeWatch } from './node-watch.ts';
import { registerNode } from './register-node.ts';

export interface NodeReporterSettings {
  readonly nodeName: string;
  readonly register: boolean;
  readonly getOnExistsOnly: boolean;
  readonly updatePeriodMs: number;
  readonly reportPeriodMs: number;
}

export interface NodeSource {
  /** Returns the node object to create when there is none. */
  readonly initial: () => Node;
  readonly compute: (before: Node) => ComputedNode;
  /** Whether something on which Ready depends has not reported yet since the agent started. */
  readonly isUndetermined: () => boolean;
  readonly resetExtended: () => Promise<boolean>;
}

export interface NodeReporterOptions {
  readonly client: Pick<ApiClient, 'create' | 'get' | 'patch'>;
  readonly watch: Pick<NodeWatch, 'current' | 'onChange'>;
  readonly source: NodeSource;
  readonly settings: NodeReporterSettings;
  readonly recorder: NodeEventRecorder;
  readonly startup: NodeStartup;
  /** Called with the API server's node each time it is confirmed. */
  readonly onReported: (node: Node) => void;
  readonly time: { clock: Clock; random: Random; log: Logger };
}

/**
 * The back-off of registrations and failed status updates (upstream: registerWithAPIServer, 100 ms doubling to 7 s).
 */
const retry: BackoffCurve = { initialMs: 100, maxMs: 7000, factor: 2 };
/** The number of tries of one update (upstream: nodeStatusUpdateRetry). */
const TRIES = 5;
/** The jitter of the period (upstream: JitterUntil of syncNodeStatus). */
const JITTER = 0.04;
/**
 * How long a ready node stays ready while the restarted agent does not know all facts. The runtime counts as down after
 * the same time.
 */
const START_GRACE_MS = 30_000;
/**
 * The minimum time between two answers to changes by other clients, so that two agents with one name do not trigger
 * each other endlessly.
 */
const ANSWER_SPACING_MS = 1000;

/**
 * Registers the node and publishes its status. Invariants:
 * 1. One pass runs at a time. A reported change wakes it, and the period is the fallback. A wake-up does not shorten
 *    the wait after a failure.
 * 2. The API server's state comes from the watch and from the answers to own writes. It is read again after a refusal.
 * 3. Only changes are written, and all heartbeats once per report period. A deleted node is registered again.
 * 4. Only the last known node is stored, so the cost of an outage does not depend on its duration.
 */
export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #loop: Loop;
  readonly #startedMs: number;
  #latest: Node | undefined;
  #registered = false;
  #failures = 0;
  #retryAtMs = 0;
  #lastFailure = '';
  #lastProblems = '';
  #lastReport: { atMs: number; extraMs: number } | undefined;
  #unschedulable = false;
  #rebootAnnounced = false;
  #said: { version: string; reasons: Set<string> } = { version: '', reasons: new Set() };
  #answer: Timer | undefined;
  #unfollow: (() => void) | undefined;

  constructor(options: NodeReporterOptions) {
    this.#options = options;
    const { time, settings } = options;
    this.#startedMs = time.clock.monotonicMs();
    this.#loop = createLoop({
      name: 'node status',
      ...time,
      // The period is never 0, because a timer may fire a fraction of a millisecond early.
      periodMs: () =>
        this.#failures === 0 ? settings.updatePeriodMs : Math.max(1, this.#retryAtMs - time.clock.monotonicMs()),
      jitterFactor: JITTER,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#unfollow ??= this.#options.watch.onChange((node) => this.#seen(node));
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unfollow?.();
    this.#answer?.cancel();
    await this.#loop.stop();
  }

  /** Starts a pass after a change of the node. */
  wake(): void {
    this.#loop.wake();
  }

  /** Ends the wait, because the API server is known to be available again. */
  retryNow(): void {
    this.#retryAtMs = 0;
    // The node may have been marked unreachable meanwhile, and the watch that would report it may still be in its
    // back-off.
    this.#latest = undefined;
    this.#loop.wake();
  }

  /** The UID of the node in the API; undefined while none is known. */
  get uid(): string | undefined {
    return this.#latest?.metadata.uid;
  }

  #seen(node: Node | undefined): void {
    // Another watch of the node reached the API server again.
    this.#retryAtMs = 0;
    if (node === undefined) {
      this.#latest = undefined;
      this.#registered = false;
      return this.#loop.wake();
    }
    const isOwn = node.metadata.resourceVersion === this.#latest?.metadata.resourceVersion;
    this.#latest = node;
    if (isOwn && this.#failures === 0) return;
    const { clock } = this.#options.time;
    const leftMs = this.#lastReport === undefined ? 0 : this.#lastReport.atMs + ANSWER_SPACING_MS - clock.monotonicMs();
    this.#answer?.cancel();
    if (leftMs <= 0) this.#loop.wake();
    else this.#answer = clock.setTimer(leftMs, () => this.#loop.wake());
  }

  async #pass(): Promise<void> {
    const { clock, random } = this.#options.time;
    if (clock.monotonicMs() < this.#retryAtMs) return;
    const done = (await this.#register()) && (await this.#update());
    if (done) {
      this.#failures = 0;
      this.#lastFailure = '';
      return;
    }
    this.#failures++;
    this.#retryAtMs = clock.monotonicMs() + backoffDelayMs(retry, this.#failures) * (1 - random.next() / 4);
  }

  /** Logs a failure once, even if it is repeated. */
  #failed(message: string, error: string): false {
    const { log } = this.#options.time;
    const fields = { node: this.#options.settings.nodeName, error };
    if (`${message} ${error}` === this.#lastFailure) log.debug(2, message, fields);
    else log.error(message, fields);
    this.#lastFailure = `${message} ${error}`;
    return false;
  }

  async #register(): Promise<boolean> {
    const { settings, source, client, startup, time } = this.#options;
    if (!settings.register || this.#registered) return true;
    startup.attempted();
    const bare = source.initial();
    const { node: initial } = source.compute(bare);
    if (this.#failures === 0) time.log.info('Attempting to register node', { node: settings.nodeName });
    const result = await registerNode({
      client,
      initial,
      resetExtended: await source.resetExtended(),
      getOnExistsOnly: settings.getOnExistsOnly,
    });
    if (result.kind === 'failed') return this.#failed(result.message, result.error);
    if (result.kind === 'created') {
      startup.registeredNew();
      this.#say(computeNodeEvents(bare, initial), '');
    } else time.log.info('Node was previously registered', { node: settings.nodeName });
    time.log.info('Successfully registered node', { node: settings.nodeName });
    this.#registered = true;
    this.#latest = result.node;
    return true;
  }

  async #update(): Promise<boolean> {
    let error: unknown;
    for (let attempt = 0; attempt < TRIES; attempt++) {
      try {
        await this.#reportOnce(attempt);
        return true;
      } catch (failure) {
        error = failure;
        if (isApiError(failure, 'NotFound') && this.#options.settings.register) {
          this.#registered = false;
          this.#latest = undefined;
          this.#options.time.log.info('The node was deleted, registering it again', {
            node: this.#options.settings.nodeName,
          });
          return this.#register();
        }
        if (!isWorthAnotherTry(failure)) break;
      }
    }
    return this.#failed('Unable to update node status', errorMessage(error));
  }

  /** Makes one try of an update (upstream: tryUpdateNodeStatus). */
  async #reportOnce(attempt: number): Promise<void> {
    const { client, settings, source, onReported, startup, time } = this.#options;
    const key = { namespace: '', name: settings.nodeName };
    const before = (attempt === 0 ? this.#latest : undefined) ?? (await client.get(nodes, key));
    this.#latest = before;
    this.#noteSchedulable(before);
    const { node, problems } = source.compute(before);
    this.#noteProblems(problems);
    if (this.#defersNotReady(before, node)) return;
    this.#say(computeNodeEvents(before, node), before.metadata.resourceVersion ?? '');
    const nowMs = time.clock.monotonicMs();
    const changed = nodeHasChanged(before, node);
    const first = this.#lastReport === undefined;
    const due =
      this.#lastReport === undefined ||
      nowMs - this.#lastReport.atMs >= settings.reportPeriodMs + this.#lastReport.extraMs;
    if (!changed && !due) return onReported(before);
    const updated = await client.patch(
      nodes,
      key,
      { type: 'strategic', body: computeNodePatch(before, node) },
      { subresource: 'status' },
    );
    // After a change, the next report comes at a random time, so that nodes that changed together do not report
    // together.
    this.#lastReport = {
      atMs: nowMs,
      extraMs: changed || first ? settings.reportPeriodMs * (time.random.next() - 0.5) : 0,
    };
    this.#answered(updated);
    if (isReady(updated)) startup.ready();
    onReported(updated);
  }

  /** Handles an answer. The watch may have returned a later version meanwhile, or the deletion of the node. */
  #answered(node: Node): void {
    const known = this.#latest;
    if (known !== undefined && !isOlderVersion(node.metadata.resourceVersion, known.metadata.resourceVersion))
      this.#latest = node;
  }

  /**
   * Whether a ready node is not yet reported as not ready, because after a restart of the agent its state is unknown.
   */
  #defersNotReady(before: Node, node: Node): boolean {
    const { source, time } = this.#options;
    return (
      this.#lastReport === undefined &&
      isReady(before) &&
      !isReady(node) &&
      source.isUndetermined() &&
      time.clock.monotonicMs() - this.#startedMs < START_GRACE_MS
    );
  }

  #noteSchedulable(node: Node): void {
    const unschedulable = node.spec?.unschedulable === true;
    if (unschedulable === this.#unschedulable) return;
    this.#unschedulable = unschedulable;
    const { type, reason, message } = schedulableEvent(node);
    this.#options.recorder.nodeEvent(type, reason, message);
  }

  #noteProblems(problems: readonly string[]): void {
    const text = problems.join('; ');
    if (text !== '' && text !== this.#lastProblems)
      this.#options.time.log.error('Failed to set some node status fields', {
        node: this.#options.settings.nodeName,
        error: text,
      });
    this.#lastProblems = text;
  }

  /**
   * Records each event once per version of the node, because a status that cannot be published is computed many times.
   */
  #say(sayings: readonly NodeEventMessage[], version: string): void {
    if (this.#said.version !== version) this.#said = { version, reasons: new Set() };
    for (const { type, reason, message } of sayings) {
      if (this.#said.reasons.has(reason) || (reason === nodeEvents.rebooted && this.#rebootAnnounced)) continue;
      this.#said.reasons.add(reason);
      if (reason === nodeEvents.rebooted) this.#rebootAnnounced = true;
      this.#options.recorder.nodeEvent(type, reason, message);
    }
  }
}

/**
 * Errors that a new read of the node does not fix. If the server is unavailable or refuses, the next request waits for
 * the end of the back-off.
 */
const hopeless = [
  'ServiceUnavailable',
  'Timeout',
  'ServerTimeout',
  'TooManyRequests',
  'Unauthorized',
  'Forbidden',
] as const;

const isWorthAnotherTry = (failure: unknown): boolean => hopeless.every((reason) => !isApiError(failure, reason));
