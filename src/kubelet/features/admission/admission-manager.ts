import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { podKey, terminationGraceSeconds } from '../../../api/pod.ts';
import { containerEvents, podConditionReasons, podEvents, podReasons } from '../../../api/reasons.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { AdmissionQuestion, Rejection } from './admission-check.ts';
import type { AdmittedRecord } from './admitted-record.ts';
import type { ChainVerdict } from './admission-chain.ts';
import type { AdmissionStep } from './admission-step.ts';
import type { Hold } from './ask-steps.ts';
import { askSteps } from './ask-steps.ts';
import type { PodVerdict, AdmissionState } from './admission-state.ts';
import { rejectionMessage } from './admission-state.ts';

export interface AdmissionManagerParts {
  readonly judge: (question: AdmissionQuestion) => ChainVerdict;
  /** The operator's own steps, in the order of their calls. */
  readonly steps: readonly AdmissionStep[];
  /** Steps that run last, only for the pods they concern. Most pods have none and are admitted immediately. */
  readonly lastStepsOf?: (pod: Pod) => readonly AdmissionStep[];
  readonly node: () => Node;
  /**
   * All pods that the sources want and that have not ended, whatever their admission state, with their allocated
   * resources.
   */
  readonly livePods: () => readonly Pod[];
  /** The pod as its source wants it now. */
  readonly pod: (uid: PodUid) => Pod | undefined;
  /** The pod ran here before: the runtime has, or may have, something of it. */
  readonly hasRun: (pod: Pod) => boolean;
  /** Something of the pod runs, or may run. */
  readonly runs: (pod: Pod) => boolean;
  /** The runtime has, or had, a container of the pod. */
  readonly hasContainers: (uid: PodUid) => boolean;
  /** Why the node does not start an admitted pod now, such as pressure; undefined if it may start. */
  readonly pressureOn: (pod: Pod) => Rejection | undefined;
  /** The pod is over, as its source or an earlier run of the agent reported. */
  readonly hasEnded: (pod: Pod) => boolean;
  /**
   * Called before the first decision about a pod: removes the status that an earlier run published for a pod it
   * rejected, when this run is to decide again.
   */
  readonly forgetRejection: (pod: Pod) => void;
  /** Persisted across restarts of the agent: pods that were admitted and may not have started yet. */
  readonly record: Pick<AdmittedRecord, 'has' | 'isPreempted' | 'add' | 'preempt' | 'forget'>;
  /** Resolves when the record is on disk, or cannot be written now. */
  readonly saved: () => Promise<void>;
  /** The pod with its allocated resources: the same object unless its source now asks for different ones. */
  readonly allocated: (pod: Pod) => Pod;
  /** Stops a pod permanently to make room. */
  readonly stop: (uid: PodUid) => void;
  /** Called for each pod that is stopped to make room, with the resource that was short. */
  readonly onPreempted?: (resource: string) => void;
  /** Nothing of the pod runs any more. */
  readonly hasStopped: (uid: PodUid) => boolean;
  /** A pod's admission state changed. */
  readonly onChange: (uid: PodUid) => void;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

type Case =
  | { kind: 'admitted'; hasBegun?: boolean }
  | ({ kind: 'rejected' } & Rejection)
  | {
      kind: 'asking';
      sinceMs: number;
      hold: Hold;
      abort: AbortController;
      wakes: Set<() => void>;
      /** Admitted by an earlier run of the agent: it keeps its place meanwhile. */
      isReturning: boolean;
    }
  | { kind: 'making-room'; sinceMs: number; victims: ReadonlySet<PodUid>; patience: Timer; isSaved: boolean };

const preempted: PodVerdict = {
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
/** How long a victim may take depends on its grace period (upstream: pod_workers.go killPodNow). */
const MINIMUM_PATIENCE_MS = 10_000;
const GRACE_STRETCH = 1.5;

/**
 * Decides which pods may start on this node.
 * 1. Each pod is decided once. A pod that was admitted, or ran here, is never decided again, even after a restart of
 *    the agent or a change of the node's labels. Only its last steps are called again, by an agent that starts when
 *    nothing of the pod runs, as after a boot: its devices may be gone (upstream: devicemanager devicesToAllocate).
 * 2. Nothing here blocks: a pod that cannot be decided at once is held, and `onChange` reports the end of the hold.
 * 3. A held pod takes no resources, and is decided again when it is released. A pod for which room is being made
 *    already has its place.
 * 4. A preempted pod stays stopped, also for a later agent: this is on disk before its room is used.
 * 5. A pod that has its place but no container yet is refused when the node has come under pressure since.
 * 6. A step that hangs for one pod delays no other pod.
 */
export class AdmissionManager {
  readonly #parts: AdmissionManagerParts;
  readonly #cases = new Map<PodUid, Case>();
  readonly #admittedListeners = new Set<(pod: Pod) => void>();

  constructor(parts: AdmissionManagerParts) {
    this.#parts = parts;
  }

  /**
   * Calls `listener` for each pod that has, or gets, its place; includes pods admitted by an earlier agent. Returns the
   * function that unsubscribes.
   */
  onAdmitted(listener: (pod: Pod) => void): () => void {
    this.#admittedListeners.add(listener);
    return () => void this.#admittedListeners.delete(listener);
  }

  /**
   * Admits pods that need no decision. Must be called with all pods of an update before the first of them is decided:
   * pods that run get their place before new ones.
   */
  adopt(pods: readonly Pod[]): void {
    for (const pod of pods) this.#adopted(pod);
  }

  /** The admission state of the pod; decides a pod that has none. */
  admit(pod: Pod): AdmissionState {
    const uid = podUid(pod.metadata.uid);
    if (!this.#cases.has(uid) && !this.#adopted(pod)) this.#begin(pod);
    return this.state(uid) ?? { kind: 'admitted' };
  }

  state(uid: PodUid): AdmissionState | undefined {
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
          why: `waiting for preempted pods to stop: ${[...own.victims].map((victim) => this.#nameOf(victim)).join(', ')}`,
        };
    }
  }

  /** The pod's status as far as admission decides it; undefined leaves it to its containers. */
  verdictOn(uid: PodUid): PodVerdict | undefined {
    const state = this.state(uid);
    if (state?.kind === 'rejected')
      return { kind: 'rejected', reason: state.reason, message: rejectionMessage(state.message) };
    if (state?.kind === 'held')
      return { kind: 'held', reason: podReasons.admissionHeld, message: `held by ${state.by}: ${state.why}` };
    return this.#parts.record.isPreempted(uid) ? preempted : undefined;
  }

  /** The pods that have a place on the node, with their allocated resources (upstream: GetActivePods). */
  activePods(): Pod[] {
    return this.#parts.livePods().filter(({ metadata }) => {
      const uid = podUid(metadata.uid);
      const own = this.#cases.get(uid);
      const hasPlace =
        own?.kind === 'admitted' || own?.kind === 'making-room' || (own?.kind === 'asking' && own.isReturning);
      return hasPlace && !this.#parts.record.isPreempted(uid);
    });
  }

  /** The pod is admitted, and its source still wants it. */
  hasPlace(uid: PodUid): boolean {
    return this.#cases.get(uid)?.kind === 'admitted' && this.#parts.pod(uid) !== undefined;
  }

  /**
   * Whether the pod may start its first container now; true for a pod that had one. False: it is rejected from now on.
   * Decided once for all its containers.
   */
  mayBegin(pod: Pod): boolean {
    const uid = podUid(pod.metadata.uid);
    const own = this.#cases.get(uid);
    if (own?.kind !== 'admitted' || own.hasBegun === true) return own?.kind !== 'rejected';
    const rejection = this.#parts.hasContainers(uid) ? undefined : this.#parts.pressureOn(pod);
    if (rejection === undefined) {
      this.#cases.set(uid, { ...own, hasBegun: true });
      return true;
    }
    this.#parts.record.forget(uid);
    this.#settle(uid, { kind: 'rejected', ...rejection });
    return false;
  }

  /** Why a pod with these resources would not fit beside the others; used for resizes of running pods. */
  misfit(pod: Pod): Rejection | undefined {
    const verdict = this.#judge(pod, 'resized');
    if (verdict.kind === 'admit') return undefined;
    const { reason, message } = verdict.kind === 'preempt' ? verdict.shortage : verdict;
    return { reason, message };
  }

  /** Calls the operator's steps again, now, for every held pod. */
  wake(): void {
    for (const own of this.#cases.values()) if (own.kind === 'asking') for (const wake of [...own.wakes]) wake();
  }

  /** The pod is being stopped: what it waited for no longer matters. */
  withdraw(uid: PodUid): void {
    const own = this.#cases.get(uid);
    if (own?.kind !== 'asking' && own?.kind !== 'making-room') return;
    this.#end(own);
    this.#cases.delete(uid);
  }

  /** Nothing of the pod runs any more: its room is free. */
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

  /** Ends all waits; no more decisions are made. */
  close(): void {
    for (const own of this.#cases.values()) this.#end(own);
  }

  #notifyAdmitted(pod: Pod): void {
    for (const listener of this.#admittedListeners) listener(pod);
  }

  #adopted(pod: Pod): boolean {
    const { record, hasRun, hasEnded, forgetRejection } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    if (this.#cases.has(uid)) return true;
    const isPreempted = record.isPreempted(uid);
    if (!isPreempted) forgetRejection(pod);
    const isOver = isPreempted || hasEnded(pod);
    if (!record.has(uid) && !isOver && !hasRun(pod)) return false;
    const again = isOver || this.#parts.runs(pod) ? [] : (this.#parts.lastStepsOf?.(pod) ?? []);
    if (again.length > 0) {
      this.#ask(pod, again, true);
      return true;
    }
    this.#cases.set(uid, { kind: 'admitted' });
    if (!isOver) this.#notifyAdmitted(pod);
    return true;
  }

  #begin(pod: Pod): void {
    const uid = podUid(pod.metadata.uid);
    const verdict = this.#judge(pod);
    if (verdict.kind === 'reject')
      return this.#settle(uid, { kind: 'rejected', reason: verdict.reason, message: verdict.message });
    const steps = this.#stepsOf(pod);
    if (steps.length === 0) return this.#take(pod, verdict);
    this.#ask(pod, steps, false);
  }

  #stepsOf(pod: Pod): readonly AdmissionStep[] {
    const { steps, lastStepsOf } = this.#parts;
    return [...steps, ...(lastStepsOf?.(pod) ?? [])];
  }

  #ask(pod: Pod, steps: readonly AdmissionStep[], isReturning: boolean): void {
    const { node, clock, log } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const sinceMs = clock.nowMs();
    const own: Case & { kind: 'asking' } = {
      kind: 'asking',
      sinceMs,
      hold: { by: steps[0]?.name ?? '', why: 'the step has not answered yet' },
      abort: new AbortController(),
      wakes: new Set(),
      isReturning,
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
      (error: unknown) => log.error('admission steps could not be called', { podUid: uid, error: errorMessage(error) }),
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
    if (rejection !== undefined) {
      if (own.isReturning) this.#parts.record.forget(uid);
      this.#settle(uid, { kind: 'rejected', ...rejection });
    } else if (own.isReturning) this.#settle(uid, { kind: 'admitted' });
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
        return this.#makeRoom(uid, verdict);
    }
  }

  #settle(uid: PodUid, own: Case & { kind: 'admitted' | 'rejected' }): void {
    const { record, recorder, log } = this.#parts;
    this.#cases.set(uid, own);
    const pod = this.#parts.pod(uid);
    if (pod === undefined) return;
    if (own.kind === 'admitted') {
      record.add(uid);
      return this.#notifyAdmitted(pod);
    }
    log.info('Pod admission denied', { pod: podKey(pod), podUid: uid, reason: own.reason, message: own.message });
    recorder.event(pod, 'Warning', own.reason, own.message);
  }

  #makeRoom(uid: PodUid, { victims, resource }: ChainVerdict & { kind: 'preempt' }): void {
    const { clock, recorder, record, saved, stop, onPreempted, log } = this.#parts;
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
      recorder.event(victim, 'Warning', containerEvents.preempting, preempted.message);
      record.preempt(victimUid);
      stop(victimUid);
      onPreempted?.(resource);
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

  /** As upstream, admits the pod even if a victim does not end in time. */
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

  /** Pods that are being stopped to make room no longer count; a pod that waits for that room does. */
  #judge(pod: Pod, as: 'new' | 'resized' = 'new'): ChainVerdict {
    const { judge, node, allocated } = this.#parts;
    const others = this.activePods().filter((other) => other.metadata.uid !== pod.metadata.uid);
    return judge({ pod: as === 'new' ? allocated(pod) : pod, node: node(), others });
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
