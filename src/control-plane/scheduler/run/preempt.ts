import { errorMessage } from '../../../base/errors.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Candidate } from '../preemption/victims.ts';
import type { SchedulerContext } from './context.ts';
import { computeStatusPatch } from './pod-status.ts';

const PLUGIN = 'DefaultPreemption';
const inProgress = unresolvable(PLUGIN, 'waiting for the preemption for this pod to be finished');

/** Executes preemptions. While it deletes the victims of a pod, that pod is not scheduled. */
export class Preemptions {
  readonly #running = new Set<string>();

  heldBack(pod: Pod): Rejection | undefined {
    return this.#running.has(pod.metadata.uid) ? inProgress : undefined;
  }

  /** Evicts the victims. Never rejects: if an eviction fails, the pod is scheduled again. */
  async run(context: SchedulerContext, preemptor: PodInfo, { nodeName, victims }: Candidate): Promise<void> {
    const { uid } = preemptor;
    this.#running.add(uid);
    let isDone = false;
    try {
      // Nominated pods of lower priority lose their nomination and need another node.
      for (const other of [...context.cache.nominatedPods(nodeName)]) {
        if (other.priority >= preemptor.priority || other.uid === uid) continue;
        context.cache.nominator.nominate(other.pod, '');
        context.setStatus(other.pod, { nominatedNodeName: '' });
      }
      await Promise.all(victims.map(({ pod }) => this.#evict(context, preemptor.pod, pod, nodeName)));
      isDone = true;
    } catch (error) {
      context.log.warn('Preemption failed', {
        pod: `${preemptor.namespace}/${preemptor.pod.metadata.name}`,
        node: nodeName,
        error: errorMessage(error),
      });
    } finally {
      this.#running.delete(uid);
    }
    // The pod was held back, so the events since then did not move it to the active queue.
    if (!isDone || context.queue.gatedBy(uid)?.plugin === PLUGIN) context.queue.activate(uid);
  }

  /** Evicts one victim. The condition is written first, because it cannot be set on a deleted pod. */
  async #evict(context: SchedulerContext, preemptor: Pod, victim: Pod, nodeName: string): Promise<void> {
    if (victim.metadata.deletionTimestamp !== undefined) return;
    const { client, clock } = context;
    const schedulerName = preemptor.spec.schedulerName ?? '';
    const message = `${schedulerName}: preempting to accommodate a higher priority pod`;
    const patch = computeStatusPatch(
      victim,
      { condition: { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message } },
      clock.nowMs(),
    );
    try {
      if (patch !== undefined) await client.patch(pods, keyOf(victim), patch, { subresource: 'status' });
      await client.delete(pods, keyOf(victim), { preconditions: { uid: victim.metadata.uid } });
    } catch (error) {
      // The pod was deleted or replaced, so its room is free.
      if (isApiError(error, 'NotFound', 'Conflict')) return;
      throw error;
    }
    context.tell(victim, schedulerName, {
      action: 'Preempting',
      type: 'Normal',
      reason: 'Preempted',
      message: `Preempted by pod ${preemptor.metadata.uid} on node ${nodeName}`,
    });
  }
}
