import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { pods, replicaSets } from '../../../api/client/resource-types.ts';
import type { Controller, ControllerOptions } from '../controller.ts';
import { ControlledIndex } from '../controller-ref.ts';
import { createEventRecorder } from '../event-recorder.ts';
import { Expectations } from '../expectations.ts';
import { wakeOwners } from '../owner-events.ts';
import { PodControl, podFromTemplate } from '../pod-control.ts';
import { isPodActive, isPodAvailable, isPodReady, isPodTerminating, nextAvailableMs } from '../pod-facts.ts';
import { rankForDeletion } from '../deletion-rank.ts';
import { runController } from '../run-controller.ts';
import { RateLimitingQueue } from '../rate-limiting-queue.ts';

/**
 * A minimal ReplicaSet controller for tests of controllers that depend on one, because controllers may not import each
 * other.
 */
export function simpleReplicaSets(options: ControllerOptions): Controller {
  const { informers, clock, log, client } = options;
  const sets = informers.for(replicaSets);
  const informer = informers.for(pods);
  const expectations = new Expectations(clock);
  const control = new PodControl({
    client,
    informer,
    expectations,
    type: replicaSets,
    recorder: createEventRecorder({ ...options, component: 'replicas' }),
  });
  const index = new ControlledIndex(informer);
  const manage = async (key: string, set: ReplicaSet): Promise<void> => {
    const active = index.ofOwner(set).filter(isPodActive);
    const missing = (set.spec.replicas ?? 1) - active.length;
    await Promise.all(
      Array.from({ length: Math.max(0, missing) }, () =>
        control.create(key, set, podFromTemplate(replicaSets, set, set.spec.template)),
      ),
    );
    for (const pod of rankForDeletion(active, active, clock.nowMs()).slice(0, Math.max(0, -missing)))
      await control.delete(key, set, pod);
  };
  const sync = async (key: string): Promise<number | undefined> => {
    const set = sets.getByKey(key);
    if (set === undefined) return undefined;
    if (expectations.waitMs(key) === 0 && set.metadata.deletionTimestamp === undefined) await manage(key, set);
    const mine = index.ofOwner(set);
    const active = mine.filter(isPodActive);
    const seconds = set.spec.minReadySeconds ?? 0;
    const availableReplicas = active.filter((pod) => isPodAvailable(pod, seconds, clock.nowMs())).length;
    const numbers = {
      replicas: active.length,
      readyReplicas: active.filter(isPodReady).length,
      availableReplicas,
      terminatingReplicas: mine.filter(isPodTerminating).length,
      observedGeneration: set.metadata.generation,
    };
    const status = { ...numbers, ...(set.status?.conditions !== undefined && { conditions: set.status.conditions }) };
    if (JSON.stringify({ ...set.status, ...status }) !== JSON.stringify(set.status))
      await client.update(replicaSets, { ...set, status }, { subresource: 'status' });
    return nextAvailableMs(active, seconds, clock.nowMs());
  };
  const queue = new RateLimitingQueue({ name: 'simple replica sets', clock, log, workers: 5, sync });
  const end = wakeOwners({ owners: sets, dependents: informer, expectations, add: (key) => queue.add(key) });
  return runController({ name: 'simple replica sets', log, queues: [queue], informers: [sets, informer], ends: [end] });
}
