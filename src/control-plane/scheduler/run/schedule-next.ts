import { inBackground } from '../../../base/background.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { resourceClaimNames } from '../../../api/resource/pod-claims.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { decideExtended } from '../extenders/decide-extended.ts';
import { NO_NODES_MESSAGE, schedulePod } from '../decide/schedule-pod.ts';
import type { Decision } from '../decide/schedule-pod.ts';
import type { Extender } from '../framework/extender.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { Profile } from '../framework/profile.ts';
import type { QueuedPod } from '../queue/queued-pod.ts';
import type { MissedEvent } from '../queue/scheduling-queue.ts';
import type { ClaimPlan } from '../framework/plugin.ts';
import { bindClaims, nameClaims, removeExtendedClaim, reservedClaim, unreserveClaims } from './bind-claims.ts';
import { awaitBindingConditions, deallocate } from './await-binding.ts';
import type { BindResult } from './bind-pod.ts';
import { bindChosen, hasReservations, postBind, preBind, reserveAndPermit, unreserve } from './binding-steps.ts';
import type { Chosen } from './binding-steps.ts';
import { bindVolumes, computeVolumeWrites } from './bind-volumes.ts';
import type { VolumeWrites } from './bind-volumes.ts';
import type { SchedulingAttempt } from '../../controller-runtime/scheduling-metrics.ts';
import type { SchedulerContext } from './context.ts';
import { truncateNote } from './pod-status.ts';
import type { Preemptions } from './preempt.ts';

export interface CycleParts {
  readonly context: SchedulerContext;
  readonly preemptions: Preemptions;
  /** Limits the number of concurrent binds. */
  readonly limit: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Schedules pods one by one and executes the decisions. */
export class SchedulingCycle {
  readonly #parts: CycleParts;
  /** The index where the next search through the nodes starts. */
  #start = 0;
  readonly #bindings = new Set<Promise<void>>();
  /** The monotonic start time of each running attempt, by UID. */
  readonly #began = new Map<string, number>();

  constructor(parts: CycleParts) {
    this.#parts = parts;
  }

  /**
   * Schedules the next pod. Returns false if no pod waits. Everything up to the decision and its local effects is
   * synchronous; the bind continues in the background. A decision with extenders takes longer and returns a promise,
   * which never rejects.
   */
  runOne(): boolean | Promise<void> {
    const { context } = this.#parts;
    const queued = context.queue.pop();
    if (queued === undefined) return false;
    const { pod } = queued.info;
    const profile = context.config.profiles.get(pod.spec.schedulerName ?? '');
    if (profile === undefined || context.cache.placedPod(pod.metadata.uid) !== undefined) return true;
    this.#began.set(pod.metadata.uid, context.clock.monotonicMs());
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#began.delete(pod.metadata.uid);
      context.tell(pod, profile.schedulerName, {
        action: 'Scheduling',
        type: 'Warning',
        reason: 'FailedScheduling',
        message: `skip schedule deleting pod: ${pod.metadata.namespace}/${pod.metadata.name}`,
      });
      return true;
    }
    const extenders = context.extenders.filter((extender) => extender.isInterestedIn(pod));
    if (extenders.some(({ filters, prioritizes, preempts }) => filters || prioritizes || preempts)) {
      const running = this.#runExtended(queued, profile, extenders).finally(() => this.#bindings.delete(running));
      this.#bindings.add(running);
      return running;
    }
    let decision: Decision;
    try {
      decision = schedulePod(context.cache, queued.info, profile, { start: this.#start, random: context.random });
    } catch (error) {
      this.#failed(queued, pod, errorMessage(error));
      return true;
    }
    this.#act(queued, profile, decision);
    return true;
  }

  /**
   * Runs a decision with extenders. Other pods wait for it, as in upstream, so that the next decision includes this
   * pod. Never rejects.
   */
  async #runExtended(queued: QueuedPod, profile: Profile, extenders: readonly Extender[]): Promise<void> {
    const { context } = this.#parts;
    const { pod } = queued.info;
    const latest = (): Pod | undefined => {
      const now = context.pods.get(keyOf(pod));
      const isOurs = now?.metadata.uid === pod.metadata.uid && now.metadata.deletionTimestamp === undefined;
      return isOurs && (now.spec.nodeName ?? '') === '' ? now : undefined;
    };
    const latestInfo = (): PodInfo | undefined => {
      const now = latest();
      return now === undefined ? undefined : podInfoOf(now);
    };
    context.queue.takeOff(pod.metadata.uid);
    let outcome: { readonly decision: Decision } | { readonly error: unknown };
    try {
      const decision = await decideExtended({
        ...{ snapshot: context.cache, pod: queued.info, profile, start: this.#start, random: context.random },
        ...{ extenders, signal: context.stopping, log: context.log, latest: latestInfo },
      });
      outcome = { decision };
    } catch (error) {
      outcome = { error };
    }
    const missed = context.queue.land();
    const info = latestInfo();
    if (context.stopping.aborted || info === undefined) return void this.#began.delete(pod.metadata.uid);
    const now = { ...queued, info };
    if ('error' in outcome) return this.#failed(now, info.pod, errorMessage(outcome.error));
    this.#act(now, profile, outcome.decision, missed);
  }

  /** Resolves when no decision and no bind is running. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#bindings);
  }

  #act(queued: QueuedPod, profile: Profile, decision: Decision, missed: readonly MissedEvent[] = []): void {
    switch (decision.kind) {
      case 'noNodes':
        return this.#rejected(queued, profile, {
          message: NO_NODES_MESSAGE,
          rejectors: new Set(profile.filters.map(({ name }) => name)),
          nominate: '',
          missed,
        });
      case 'unschedulable': {
        this.#start = decision.nextStart;
        const { preemption, deallocate: obstacle, message, nominate, diagnosis } = decision;
        if (obstacle !== undefined) this.#free(obstacle, queued.info.pod);
        // Preemption is recorded before the pod is put back, so that the pod is held back at once.
        if (preemption !== undefined)
          inBackground(
            this.#parts.context.log,
            'preempt',
            this.#parts.preemptions.run(this.#parts.context, queued.info, preemption),
          );
        return this.#rejected(queued, profile, { message, rejectors: diagnosis.rejectors, nominate, missed });
      }
      case 'placed': {
        this.#start = decision.nextStart;
        return this.#assume(queued, profile, decision);
      }
    }
  }

  #rejected(
    queued: QueuedPod,
    profile: Profile,
    {
      message,
      rejectors,
      nominate,
      missed,
    }: {
      readonly message: string;
      readonly rejectors: ReadonlySet<string>;
      readonly nominate: string | undefined;
      readonly missed: readonly MissedEvent[];
    },
  ): void {
    const { context } = this.#parts;
    const { pod } = queued.info;
    this.#ended(pod, profile.schedulerName, 'unschedulable');
    this.#removeLeftClaim(pod);
    context.queue.putBackRejected(queued, rejectors, missed);
    context.cache.nominator.nominate(pod, nominate);
    this.#say(pod, profile.schedulerName, { reason: 'Unschedulable', message, nominate });
  }

  /** Deallocates a claim. The change of the claim retries the pod. */
  #free(claim: ResourceClaim, pod: Pod): void {
    const { context } = this.#parts;
    inBackground(context.log, 'free a claim that keeps a pod from nodes', deallocate(context, claim, pod));
  }

  /** Deletes the leftover claim. Its deletion retries the pod. */
  #removeLeftClaim({ metadata: { uid } }: Pod): void {
    const { context } = this.#parts;
    if (context.objects.extendedClaim(uid) === undefined) return;
    inBackground(context.log, 'remove the claim of a pod that was not bound', removeExtendedClaim(context, uid));
  }

  /** Handles an error that is not a rejection (upstream: handleSchedulingFailure). */
  #failed(queued: QueuedPod, pod: Pod, message: string): void {
    const { context } = this.#parts;
    this.#ended(pod, pod.spec.schedulerName ?? '', 'error');
    context.log.warn('Scheduling failed', { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, error: message });
    context.queue.putBackFailed({ ...queued, info: podInfoOf(pod) });
    context.cache.nominator.nominate(pod, '');
    this.#say(pod, pod.spec.schedulerName ?? '', { reason: 'SchedulerError', message, nominate: '' });
  }

  #ended({ metadata: { uid } }: Pod, profile: string, result: SchedulingAttempt['result']): void {
    const { metrics, clock } = this.#parts.context;
    const nowMs = clock.monotonicMs();
    metrics?.attempted({ profile, result, durationMs: nowMs - (this.#began.get(uid) ?? nowMs) });
    this.#began.delete(uid);
  }

  #say(
    pod: Pod,
    schedulerName: string,
    {
      reason,
      message,
      nominate,
    }: { readonly reason: string; readonly message: string; readonly nominate: string | undefined },
  ): void {
    const { context } = this.#parts;
    context.tell(pod, schedulerName, {
      action: 'Scheduling',
      type: 'Warning',
      reason: 'FailedScheduling',
      message: truncateNote(message),
    });
    const condition = { type: 'PodScheduled', status: 'False', reason, message } as const;
    context.setStatus(pod, { condition, ...(nominate !== undefined && { nominatedNodeName: nominate }) });
  }

  #assume(
    queued: QueuedPod,
    profile: Profile,
    { nodeName, volumes, claims }: Extract<Decision, { kind: 'placed' }>,
  ): void {
    const { context } = this.#parts;
    const { pod } = queued.info;
    const assumed: Pod = { ...pod, spec: { ...pod.spec, nodeName } };
    context.cache.assume(assumed);
    context.cache.nominator.remove(pod.metadata.uid);
    const writes = volumes === undefined ? undefined : computeVolumeWrites(volumes, nodeName);
    if (writes !== undefined) context.objects.assume(writes.volumes, writes.claims);
    const named = nameClaims(claims, context.random);
    for (const entry of named) context.objects.assumedResourceClaims.assume(reservedClaim(entry, pod));
    const binding = this.#bind(queued, profile, { assumed, nodeName, writes, claims: named }).finally(() =>
      this.#bindings.delete(binding),
    );
    this.#bindings.add(binding);
  }

  /** Binds the pod and its volumes and claims. Never rejects. */
  async #bind(
    queued: QueuedPod,
    profile: Profile,
    {
      assumed,
      nodeName,
      writes,
      claims,
    }: {
      readonly assumed: Pod;
      readonly nodeName: string;
      readonly writes: VolumeWrites | undefined;
      readonly claims: ClaimPlan;
    },
  ): Promise<void> {
    const { context } = this.#parts;
    const { pod } = queued.info;
    const chosen = { steps: profile.binding, pod, nodeName };
    const release = (): void => {
      if (writes !== undefined) context.objects.revert(writes.volumes, writes.claims);
      for (const { claim } of claims) context.objects.assumedResourceClaims.settle(claim, 'failed');
    };
    /** Undoes the reservations before the pod is queued again. */
    const fail = async (message: string, undo: () => Promise<void> | void): Promise<void> => {
      await undo();
      await unreserve(context, chosen);
      if (!context.stopping.aborted) this.#bindFailed(queued, assumed, message);
    };
    const undoClaims = (): Promise<void> => unreserveClaims(context, claims, pod);
    if (hasReservations(profile.binding)) {
      try {
        await reserveAndPermit(context, chosen);
      } catch (error) {
        return fail(errorMessage(error), release);
      }
    }
    if (writes !== undefined) {
      // Binding volumes may take long. The nomination shows other components the chosen node.
      context.setStatus(pod, { nominatedNodeName: nodeName });
      try {
        await bindVolumes(context, writes, profile.volumeBindTimeoutMs);
      } catch (error) {
        return fail(`running PreBind plugin "VolumeBinding": ${errorMessage(error)}`, release);
      }
    }
    try {
      await bindClaims(context, claims, pod);
      await this.#awaitDevices({ pod, nodeName, claims, profile });
    } catch (error) {
      if (context.stopping.aborted) return;
      return fail(`running PreBind plugin "DynamicResources": ${errorMessage(error)}`, undoClaims);
    }
    const result = await this.#preBindAndBind(chosen);
    if (result.kind === 'failed') {
      if (context.stopping.aborted) return;
      return fail(result.message, undoClaims);
    }
    this.#ended(pod, profile.schedulerName, 'scheduled');
    const { namespace, name } = pod.metadata;
    context.tell(assumed, profile.schedulerName, {
      action: 'Binding',
      type: 'Normal',
      reason: 'Scheduled',
      message: `Successfully assigned ${namespace}/${name} to ${nodeName}`,
    });
    if (profile.binding.postBind.length > 0) await postBind(context, chosen);
  }

  /** Runs the steps of module plugins, which may take long and do not block other pods. Never rejects. */
  async #preBindAndBind(chosen: Chosen): Promise<BindResult> {
    const { context, limit } = this.#parts;
    try {
      if (chosen.steps.preBind.length > 0) await preBind(context, chosen);
    } catch (error) {
      return { kind: 'failed', message: errorMessage(error) };
    }
    return limit(() => bindChosen(context, chosen));
  }

  async #awaitDevices({
    pod,
    nodeName,
    claims,
    profile,
  }: {
    readonly pod: Pod;
    readonly nodeName: string;
    readonly claims: ClaimPlan;
    readonly profile: Profile;
  }): Promise<void> {
    const { context } = this.#parts;
    const { namespace } = pod.metadata;
    const names = new Set([...resourceClaimNames(pod), ...claims.map(({ claim }) => claim.metadata.name)]);
    await awaitBindingConditions(context, {
      pod,
      claims: [...names].map((name) => ({ namespace, name })),
      timeoutMs: profile.deviceBindingTimeoutMs,
      onWait: () =>
        context.tell(pod, profile.schedulerName, {
          action: 'Scheduling',
          type: 'Normal',
          reason: 'BindingConditionsPending',
          message: `waiting for binding conditions for device on node ${nodeName}`,
        }),
    });
  }

  /** Frees the resources and requeues the pod, unless it was deleted or bound to another node. */
  #bindFailed(queued: QueuedPod, assumed: Pod, message: string): void {
    const { context } = this.#parts;
    const { uid } = assumed.metadata;
    const wasAssumed = context.cache.isAssumed(uid);
    context.cache.forget(uid);
    if (wasAssumed) context.queue.wake({ resource: 'Pod', actions: ['Delete'], before: assumed });
    const now = context.pods.get(keyOf(assumed));
    if (now === undefined || now.metadata.uid !== uid || (now.spec.nodeName ?? '') !== '')
      return void this.#began.delete(uid);
    this.#failed(queued, now, message);
  }
}
