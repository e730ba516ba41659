import { nodeEvents, podEvents } from '../../../api/reasons.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { KernelLog, KernelMessage } from '../../ports/kernel-log.ts';
import type { EventRecorder, NodeEventRecorder } from '../../ports/recorder.ts';
import { podOomMessage, systemOomMessage } from './oom-message.ts';
import type { OomPod } from './oom-place.ts';
import { locateOomKill } from './oom-place.ts';
import { OomRecords } from './oom-records.ts';
import type { OomKill, OomReport } from './oom-report.ts';
import { readOomLine } from './oom-report.ts';

export interface OomWatcherParts {
  /** The kernel log; undefined if it is not followed. */
  readonly kernelLog: KernelLog | undefined;
  /** Returns the pods of this node with their containers. */
  readonly pods: () => Iterable<OomPod>;
  readonly recorder: EventRecorder & NodeEventRecorder;
  /** Called when a process was killed in this pod. */
  readonly onKill: (uid: PodUid) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const RETRY_MS = 1000;
const MOST_RETRY_MS = 60_000;
const LOOK_AGAIN_MS = 100;
const MOST_LOOKS = 10;

/**
 * Follows the kernel's log for processes that it killed because memory ran out (upstream: oom/oom_watcher_linux.go). A
 * kill for lack of memory on the node becomes upstream's event SystemOOM. A kill in a pod, which upstream does not
 * report, becomes an event of the pod and a condition of its status. Invariants:
 * 1. Only records of the kernel count, because a privileged container can write others.
 * 2. Kills from before the start are not reported. Upstream reports those since boot again at each start.
 */
export class OomWatcher {
  readonly records = new OomRecords();
  readonly #parts: OomWatcherParts;
  #report: OomReport | undefined;
  #stop: (() => void) | undefined;
  #retry: Timer | undefined;
  #retryMs = RETRY_MS;
  #isStopped = false;
  #isAway = false;

  constructor(parts: OomWatcherParts) {
    this.#parts = parts;
  }

  start(): void {
    const { kernelLog, log } = this.#parts;
    if (this.#isStopped || kernelLog === undefined) return;
    try {
      this.#stop = kernelLog.follow({
        onMessage: (message) => this.#read(message),
        onLost: () => {
          this.#report = undefined;
          log.warn('the kernel overwrote records of its log before they were read; kills may be missing');
        },
        onEnd: (reason) => this.#again(reason),
      });
      if (this.#isAway) log.info('the kernel log is followed again');
      this.#isAway = false;
    } catch (error) {
      this.#again(errorMessage(error));
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#stop?.();
    this.#stop = undefined;
  }

  #again(reason: string): void {
    const { clock, log } = this.#parts;
    this.#stop = undefined;
    this.#report = undefined;
    if (this.#isStopped) return;
    if (!this.#isAway)
      log.warn('the kernel log cannot be followed; kills for lack of memory are not reported until it can', {
        error: reason,
      });
    this.#isAway = true;
    this.#retry = clock.setTimer(this.#retryMs, () => this.start());
    this.#retryMs = Math.min(this.#retryMs * 2, MOST_RETRY_MS);
  }

  #read({ byKernel, text }: KernelMessage): void {
    this.#retryMs = RETRY_MS;
    if (!byKernel) return;
    const { report, kill } = readOomLine(this.#report, text);
    this.#report = report;
    if (kill !== undefined) this.#note(kill);
  }

  #note(kill: OomKill): void {
    const { recorder } = this.#parts;
    if (kill.scope === 'system') recorder.nodeEvent('Warning', nodeEvents.systemOOM, systemOomMessage(kill));
    this.#locate(kill, MOST_LOOKS);
  }

  /**
   * Finds the pod of a kill. A process may be killed before the agent knows its container, so the search is repeated
   * for one second. A kill in a sandbox is therefore reported one second later.
   */
  #locate(kill: OomKill, looks: number): void {
    const { recorder, log, onKill, clock } = this.#parts;
    const place = locateOomKill(kill, this.#parts.pods());
    if (place !== undefined && place.container === undefined && looks > 0) {
      clock.setTimer(LOOK_AGAIN_MS, () => {
        if (!this.#isStopped) this.#locate(kill, looks - 1);
      });
      return;
    }
    if (place === undefined) {
      if (kill.scope === 'cgroup') log.info('the kernel killed a process outside of pods', { ...kill });
      return;
    }
    const uid = podUid(place.pod.metadata.uid ?? '');
    this.records.note(uid, kill, place);
    recorder.event(place.pod, 'Warning', podEvents.oomKilling, podOomMessage(kill, place), place.container?.name);
    onKill(uid);
  }
}
