import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { podKey, terminationGraceSeconds } from '../../../api/pod.ts';
import { containerEvents, podConditionReasons, podEvents, podReasons } from '../../../api/reasons.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { AdmissionQuestion, Rejection } from './admission-check.ts';
import type { AdmittedRecord } from './admitted-record.ts';
import type { ChainVerdict } from './admission-chain.ts';
import type { AdmissionStep } from './admission-step.ts';
import { askSteps, type Hold } from './ask-steps.ts';
import { rejectionMessage, type PodVerdict, type Standing } from './standing.ts';

export interface AdmissionDeskParts {
  judge: (question: AdmissionQuestion) => ChainVerdict;
  /** The operator's own, in the order they are asked. */
  steps: readonly AdmissionStep[];
  /** Asked before those, of the pods they concern: most pods have none, and are admitted at once. */
  stepsOf?: (pod: Pod) => readonly AdmissionStep[];
  node: () => Node;
  /** All pods the sources want that have not ended, whatever the desk thinks of them, each with the resources it was granted. */
  livePods: () => readonly Pod[];
  /** The pod as its source wants it now. */
  pod: (uid: PodUid) => Pod | undefined;
  /** The pod ran here before: the runtime has something of it, or may have. */
  hasRun: (pod: Pod) => boolean;
  /** The pod is over, as its source or an earlier run of the agent has said. */
  hasEnded: (pod: Pod) => boolean;
  /** What is remembered across restarts of the agent: pods that were admitted and may not have begun to run yet. */
  record: Pick<AdmittedRecord, 'has' | 'isPreempted' | 'add' | 'preempt' | 'forget'>;
  /** Resolves when the record is on disk, or cannot be brought there now. */
  saved: () => Promise<void>;
  /** The pod with the resources it was granted; another one than is given only where its source wants others by now. */
  granted: (pod: Pod) => Pod;
  /** The pod has its place from now on, or had it before this agent came. */
  onAdmitted: (pod: Pod) => void;
  /** Stops a pod for good to make room. */
  stop: (uid: PodUid) => void;
  /** Nothing of the pod runs any more. */
  hasStopped: (uid: PodUid) => boolean;
  /** A pod's standing is another one now. */
  onChange: (uid: PodUid) => void;
  recorder: EventRecorder;
  clock: Clock;
  log: Logger;
}

type Case =
  | { kind: 'admitted' }
  | ({ kind: 'rejected' } & Rejection)
  | { kind: 'asking'; sinceMs: number; hold: Hold; abort: AbortController; wakes: Set<() => void> }
  | { kind: 'making-room'; sinceMs: number; victims: ReadonlySet<PodUid>; patience: Timer; isSaved: boolean };

const PREEMPTED: PodVerdict = {
  kind: 'preempted',
  reason: podReasons.preempting,
  message: 'Preempted in order to admit critical pod',
  condition: {
    type: 'DisruptionTarget',
    status: 'True',
    reason: podConditionReasons.terminationByKubelet,
    message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
  },
};
/** How long a victim may take is a matter of its grace (upstream: pod_workers.go killPodNow). */
const MINIMUM_PATIENCE_MS = 10_000;
const GRACE_STRETCH = 1.5;

/**
 * Decides which pods may begin to run on this node.
 * 1. Each pod is judged once. One that was admitted, or ran here, is never judged again, whatever becomes of the agent or of the node's labels.
 * 2. Nothing here waits: a pod that cannot be decided at once is held, and `onChange` tells when that is over.
 * 3. A held pod takes no resources, and is judged again when it is let go. One for which room is being made has its place already.
 * 4. Who was stopped to make room stays so, also for a later agent: that is on disk before anybody gets the room.
 * 5. One pod's step, however long it hangs, holds up no other pod.
 */
export class AdmissionDesk {
  readonly #parts: AdmissionDeskParts;
  readonly #cases = new Map<PodUid, Case>();

  constructor(parts: AdmissionDeskParts) {
    this.#parts = parts;
  }

  /** Lets in pods that need no decision. To be called with all pods of an update before the first of them is judged: what runs has its place before what is new. */
  adopt(pods: readonly Pod[]): void {
    for (const pod of pods) this.#adopted(pod);
  }

  /** Where the pod stands; judges one that was never judged. */
  consider(pod: Pod): Standing {
    const uid = podUid(pod.metadata.uid);
    if (!this.#cases.has(uid) && !this.#adopted(pod)) this.#begin(pod);
    return this.standing(uid) ?? { kind: 'admitted' };
  }

  standing(uid: PodUid): Standing | undefined {
    const own = this.#cases.get(uid);
    switch (own?.kind) {
      case undefined:
        return undefined;
      case 'admitted':
        return { kind: 'admitted' };
      case 'rejected':
        return { kind: 'rejected', reason: own.reason, message: own.message };
      case 'asking':
        return { kind: 'held', sinceMs: own.sinceMs, ...own.hold };
      case 'making-room':
        return {
          kind: 'held',
          sinceMs: own.sinceMs,
          by: 'preemption',
          why: `pods that make room for it are being stopped: ${[...own.victims].map((victim) => this.#nameOf(victim)).join(', ')}`,
        };
    }
  }

  /** What the desk makes of a pod's status; undefined leaves it to its containers. */
  verdictOn(uid: PodUid): PodVerdict | undefined {
    const standing = this.standing(uid);
    if (standing?.kind === 'rejected')
      return { kind: 'rejected', reason: standing.reason, message: rejectionMessage(standing.message) };
    if (standing?.kind === 'held')
      return { kind: 'held', reason: podReasons.admissionHeld, message: `held by ${standing.by}: ${standing.why}` };
    return this.#parts.record.isPreempted(uid) ? PREEMPTED : undefined;
  }

  /** The pods that have a place on the node, each with the resources it was granted (upstream: GetActivePods). */
  activePods(): Pod[] {
    return this.#parts.livePods().filter(({ metadata }) => {
      const uid = podUid(metadata.uid);
      const kind = this.#cases.get(uid)?.kind;
      return (kind === 'admitted' || kind === 'making-room') && !this.#parts.record.isPreempted(uid);
    });
  }

  /** Why a pod with these resources would not fit beside the others; for a change of resources of one that runs. */
  misfit(pod: Pod): Rejection | undefined {
    const verdict = this.#judge(pod, 'resized');
    if (verdict.kind === 'admit') return undefined;
    const { reason, message } = verdict.kind === 'preempt' ? verdict.shortage : verdict;
    return { reason, message };
  }

  /** Asks the operator's steps about every held pod again, now. */
  wake(): void {
    for (const own of this.#cases.values()) if (own.kind === 'asking') for (const wake of [...own.wakes]) wake();
  }

  /** The pod is being stopped: whatever it waited for is of no interest any more. */
  withdraw(uid: PodUid): void {
    const own = this.#cases.get(uid);
    if (own?.kind !== 'asking' && own?.kind !== 'making-room') return;
    this.#end(own);
    this.#cases.delete(uid);
  }

  /** Nothing of the pod runs any more: whoever waited for its place may have it. */
  podStopped(uid: PodUid): void {
    for (const [waiting, own] of this.#cases) {
      if (own.kind === 'making-room' && own.victims.has(uid)) this.#roomMade(waiting, own);
    }
  }

  /** The pod is gone. */
  forget(uid: PodUid): void {
    this.withdraw(uid);
    this.#cases.delete(uid);
    this.#parts.record.forget(uid);
    this.podStopped(uid);
  }

  /** Ends all waiting; nothing is decided any more. */
  close(): void {
    for (const own of this.#cases.values()) this.#end(own);
  }

  #adopted(pod: Pod): boolean {
    const { record, hasRun, hasEnded } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    if (this.#cases.has(uid)) return true;
    const isOver = record.isPreempted(uid) || hasEnded(pod);
    if (!record.has(uid) && !isOver && !hasRun(pod)) return false;
    this.#cases.set(uid, { kind: 'admitted' });
    if (!isOver) this.#parts.onAdmitted(pod);
    return true;
  }

  #begin(pod: Pod): void {
    const uid = podUid(pod.metadata.uid);
    const verdict = this.#judge(pod);
    if (verdict.kind === 'reject')
      return this.#settle(uid, { kind: 'rejected', reason: verdict.reason, message: verdict.message });
    if (this.#stepsOf(pod).length === 0) return this.#take(pod, verdict);
    this.#ask(pod);
  }

  #stepsOf(pod: Pod): readonly AdmissionStep[] {
    return [...(this.#parts.stepsOf?.(pod) ?? []), ...this.#parts.steps];
  }

  #ask(pod: Pod): void {
    const { node, clock, log } = this.#parts;
    const steps = this.#stepsOf(pod);
    const uid = podUid(pod.metadata.uid);
    const sinceMs = clock.nowMs();
    const own: Case & { kind: 'asking' } = {
      kind: 'asking',
      sinceMs,
      hold: { by: steps[0]?.name ?? '', why: 'it has been asked and has not answered yet' },
      abort: new AbortController(),
      wakes: new Set(),
    };
    this.#cases.set(uid, own);
    const onWake = (wake: () => void): (() => void) => {
      own.wakes.add(wake);
      return () => void own.wakes.delete(wake);
    };
    const asked = askSteps({
      steps,
      request: () => ({ pod: this.#parts.pod(uid) ?? pod, node: node(), sinceMs }),
      clock,
      log,
      signal: own.abort.signal,
      onHold: (hold) => this.#held(uid, own, hold),
      onWake,
    });
    asked.then(
      (rejection) => this.#answered(uid, own, rejection),
      (error: unknown) => log.error('admission steps could not be asked', { podUid: uid, error: errorMessage(error) }),
    );
  }

  #held(uid: PodUid, own: Case & { kind: 'asking' }, hold: Hold): void {
    if (this.#cases.get(uid) !== own) return;
    const isNews = own.hold.by !== hold.by || own.hold.why !== hold.why;
    own.hold = hold;
    const pod = this.#parts.pod(uid);
    if (isNews && pod !== undefined)
      this.#parts.recorder.event(
        pod,
        'Normal',
        podEvents.admissionHeld,
        `Held by admission step ${hold.by}: ${hold.why}`,
      );
    this.#parts.onChange(uid);
  }

  #answered(uid: PodUid, own: Case & { kind: 'asking' }, rejection: Rejection | undefined): void {
    if (this.#cases.get(uid) !== own || own.abort.signal.aborted) return;
    const pod = this.#parts.pod(uid);
    if (pod === undefined) return;
    if (rejection !== undefined) this.#settle(uid, { kind: 'rejected', ...rejection });
    else this.#take(pod, this.#judge(pod));
    this.#parts.onChange(uid);
  }

  /** The pod gets its place, now or when there is room. */
  #take(pod: Pod, verdict: ChainVerdict): void {
    const uid = podUid(pod.metadata.uid);
    switch (verdict.kind) {
      case 'admit':
        return this.#settle(uid, { kind: 'admitted' });
      case 'reject':
        return this.#settle(uid, { kind: 'rejected', reason: verdict.reason, message: verdict.message });
      case 'preempt':
        return this.#makeRoom(uid, verdict.victims);
    }
  }

  #settle(uid: PodUid, own: Case & { kind: 'admitted' | 'rejected' }): void {
    const { record, recorder, log } = this.#parts;
    this.#cases.set(uid, own);
    const pod = this.#parts.pod(uid);
    if (pod === undefined) return;
    if (own.kind === 'admitted') {
      record.add(uid);
      return this.#parts.onAdmitted(pod);
    }
    log.info('Pod admission denied', { pod: podKey(pod), podUid: uid, reason: own.reason, message: own.message });
    recorder.event(pod, 'Warning', own.reason, own.message);
  }

  #makeRoom(uid: PodUid, victims: readonly Pod[]): void {
    const { clock, recorder, record, saved, stop, log } = this.#parts;
    const patienceMs = Math.max(
      ...victims.map((victim) => Math.max(MINIMUM_PATIENCE_MS, GRACE_STRETCH * terminationGraceSeconds(victim) * 1000)),
    );
    const uids = new Set(victims.map((victim) => podUid(victim.metadata.uid)));
    const own: Case & { kind: 'making-room' } = {
      kind: 'making-room',
      sinceMs: clock.nowMs(),
      victims: uids,
      isSaved: false,
      patience: clock.setTimer(patienceMs, () => this.#lostPatience(uid, own)),
    };
    this.#cases.set(uid, own);
    for (const victim of victims) {
      const victimUid = podUid(victim.metadata.uid);
      log.info('Preempting pod to free up resources', {
        pod: podKey(victim),
        podUid: victimUid,
        requestingPod: this.#nameOf(uid),
      });
      recorder.event(victim, 'Warning', containerEvents.preempting, PREEMPTED.message);
      record.preempt(victimUid);
      stop(victimUid);
    }
    void saved().then(() => {
      own.isSaved = true;
      if (this.#cases.get(uid) === own) this.#roomMade(uid, own);
    });
  }

  #roomMade(uid: PodUid, own: Case & { kind: 'making-room' }): void {
    if (!own.isSaved || ![...own.victims].every((victim) => this.#parts.hasStopped(victim))) return;
    own.patience.cancel();
    const pod = this.#parts.pod(uid);
    if (pod === undefined) return void this.#cases.delete(uid);
    this.#cases.delete(uid);
    this.#take(pod, this.#judge(pod));
    this.#parts.onChange(uid);
  }

  /** Upstream goes on without the victim that does not end. */
  #lostPatience(uid: PodUid, own: Case & { kind: 'making-room' }): void {
    if (this.#cases.get(uid) !== own) return;
    for (const victim of own.victims) {
      const pod = this.#parts.hasStopped(victim) ? undefined : this.#parts.pod(victim);
      if (pod !== undefined)
        this.#parts.recorder.event(
          pod,
          'Warning',
          containerEvents.exceededGracePeriod,
          'Container runtime did not kill the pod within specified grace period.',
        );
    }
    this.#settle(uid, { kind: 'admitted' });
    this.#parts.onChange(uid);
  }

  /** Who is being stopped to make room has no place any more, who waits for that room has one. */
  #judge(pod: Pod, as: 'new' | 'resized' = 'new'): ChainVerdict {
    const { judge, node, granted } = this.#parts;
    const others = this.activePods().filter((other) => other.metadata.uid !== pod.metadata.uid);
    return judge({ pod: as === 'new' ? granted(pod) : pod, node: node(), others });
  }

  #end(own: Case): void {
    if (own.kind === 'asking') own.abort.abort();
    if (own.kind === 'making-room') own.patience.cancel();
  }

  #nameOf(uid: PodUid): string {
    const pod = this.#parts.pod(uid);
    return pod === undefined ? uid : podKey(pod);
  }
}
