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
  /** The operator's own steps, in the order in which they are called. */
  readonly steps: readonly AdmissionStep[];
  /** Returns the steps that run last for this pod. Most pods have none and are admitted immediately. */
  readonly lastStepsOf?: (pod: Pod) => readonly AdmissionStep[];
  readonly node: () => Node;
  /**
   * Returns all pods that a source wants and that have not ended, whatever their admission state, with their allocated
   * resources.
   */
  readonly livePods: () => readonly Pod[];
  /** Returns the current pod of the source. */
  readonly pod: (uid: PodUid) => Pod | undefined;
  /** Whether the pod ran here before: the runtime has, or may have, containers or a sandbox of it. */
  readonly hasRun: (pod: Pod) => boolean;
  /** Whether a container of the pod is running, or may be. */
  readonly runs: (pod: Pod) => boolean;
  /** Whether the runtime has, or had, a container of the pod. */
  readonly hasContainers: (uid: PodUid) => boolean;
  /** Returns why the node does not start an admitted pod now, such as pressure, or undefined if the pod may start. */
  readonly pressureOn: (pod: Pod) => Rejection | undefined;
  /** Whether the pod has ended, according to its source or an earlier run of the agent. */
  readonly hasEnded: (pod: Pod) => boolean;
  /**
   * Called before the first decision about a pod. If this run of the agent decides again about a rejected pod, it
   * removes the status that the earlier run published.
   */
  readonly forgetRejection: (pod: Pod) => void;
  /**
   * The admitted pods that may not have started yet, and the preempted ones. It is kept across restarts of the agent.
   */
  readonly record: Pick<AdmittedRecord, 'has' | 'isPreempted' | 'add' | 'preempt' | 'forget'>;
  /** Resolves when the record is on disk, or if it cannot be written now. */
  readonly saved: () => Promise<void>;
  /**
   * Returns the pod with its allocated resources. It is the same object unless the source now requests other resources.
   */
  readonly allocated: (pod: Pod) => Pod;
  /** Stops a pod permanently to make room. */
  readonly stop: (uid: PodUid) => void;
  /** Called for each pod that is stopped to make room, with the resource of which the node had too little. */
  readonly onPreempted?: (resource: string) => void;
  /** Whether all containers of the pod have stopped. */
  readonly hasStopped: (uid: PodUid) => boolean;
  /** Called when the admission state of a pod changed. */
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
      /** Whether an earlier run of the agent admitted the pod. Such a pod keeps its place while its last steps run. */
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
/**
 * The minimum time to wait for a preempted pod to end. The full time depends on its grace period (upstream:
 * pod_workers.go killPodNow).
 */
const MINIMUM_PATIENCE_MS = 10_000;
const GRACE_STRETCH = 1.5;

/**
 * Decides which pods may start on this node. Invariants:
 * 1. Each pod is decided once. A pod that was admitted, or ran here, is never decided again, even after a restart of
 *    the agent or a change of the node's labels. Only its last steps are called again, when an agent starts and none of
 *    the pod's containers runs, for example after a boot: its devices may be gone (upstream: devicemanager
 *    devicesToAllocate).
 * 2. No call blocks. A pod that cannot be decided immediately is held, and `onChange` reports the end of the hold.
 * 3. A held pod takes no resources. It is decided again when it is released. A pod for which room is being made already
 *    has its place.
 * 4. A preempted pod stays stopped, also under a later agent. This is recorded on disk before its room is used.
 * 5. A pod that has its place but no container yet is rejected if the node has come under pressure in the meantime.
 * 6. A step that hangs for one pod does not delay another pod.
 */
export class AdmissionManager {
  readonly #parts: AdmissionManagerParts;
  readonly #cases = new Map<PodUid, Case>();
  readonly #admittedListeners = new Set<(pod: Pod) => void>();

  constructor(parts: AdmissionManagerParts) {
    this.#parts = parts;
  }

  /**
   * Calls `listener` for each pod that has its place now or gets it later, including pods that an earlier agent
   * admitted. Returns a function that unsubscribes.
   */
  onAdmitted(listener: (pod: Pod) => void): () => void {
    this.#admittedListeners.add(listener);
    return () => void this.#admittedListeners.delete(listener);
  }

  /**
   * Admits pods that need no decision. It must be called with all pods of an update before the first of them is
   * decided, so that running pods get their place before new ones.
   */
  adopt(pods: readonly Pod[]): void {
    for (const pod of pods) this.#adopted(pod);
  }

  /** Returns the admission state of the pod. A pod without one is decided first. */
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

  /** Returns what admission determines of the pod's status, or undefined if the containers alone determine it. */
  verdictOn(uid: PodUid): PodVerdict | undefined {
    const state = this.state(uid);
    if (state?.kind === 'rejected')
      return { kind: 'rejected', reason: state.reason, message: rejectionMessage(state.message) };
    if (state?.kind === 'held')
      return { kind: 'held', reason: podReasons.admissionHeld, message: `held by ${state.by}: ${state.why}` };
    return this.#parts.record.isPreempted(uid) ? preempted : undefined;
  }

  /** Returns the pods that have a place on the node, with their allocated resources (upstream: GetActivePods). */
  activePods(): Pod[] {
    return this.#parts.livePods().filter(({ metadata }) => {
      const uid = podUid(metadata.uid);
      const own = this.#cases.get(uid);
      const hasPlace =
        own?.kind === 'admitted' || own?.kind === 'making-room' || (own?.kind === 'asking' && own.isReturning);
      return hasPlace && !this.#parts.record.isPreempted(uid);
    });
  }

  /** Whether the pod is admitted and its source still wants it. */
  hasPlace(uid: PodUid): boolean {
    return this.#cases.get(uid)?.kind === 'admitted' && this.#parts.pod(uid) !== undefined;
  }

  /**
   * Whether the pod may start its first container now. This is true for a pod that already had a container. If it is
   * false, the pod is rejected permanently. The decision is made once for all its containers.
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

  /** Returns why a running pod with these resources would not fit beside the other pods; used for resizes. */
  misfit(pod: Pod): Rejection | undefined {
    const verdict = this.#judge(pod, 'resized');
    if (verdict.kind === 'admit') return undefined;
    const { reason, message } = verdict.kind === 'preempt' ? verdict.shortage : verdict;
    return { reason, message };
  }

  /** Calls the operator's steps again for every held pod, immediately. */
  wake(): void {
    for (const own of this.#cases.values()) if (own.kind === 'asking') for (const wake of [...own.wakes]) wake();
  }

  /** Ends the wait of a pod that is being stopped. */
  withdraw(uid: PodUid): void {
    const own = this.#cases.get(uid);
    if (own?.kind !== 'asking' && own?.kind !== 'making-room') return;
    this.#end(own);
    this.#cases.delete(uid);
  }

  /** Frees the room of a pod whose containers have all stopped. */
  podStopped(uid: PodUid): void {
    for (const [waiting, own] of this.#cases) {
      if (own.kind === 'making-room' && own.victims.has(uid)) this.#roomMade(waiting, own);
    }
  }

  /** Forgets a removed pod. */
  forget(uid: PodUid): void {
    this.withdraw(uid);
    this.#cases.delete(uid);
    this.#parts.record.forget(uid);
    this.podStopped(uid);
  }

  /** Ends all waits. No decisions are made afterwards. */
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

  /** Gives the pod its place, now or as soon as there is room. */
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

  /** Admits the pod even if a victim does not end in time, as upstream does. */
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

  /**
   * Runs the checks against the pods that have a place. Pods that are being stopped to make room do not count, but a
   * pod that waits for that room does.
   */
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
