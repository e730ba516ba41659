import { findCondition } from '../../api/conditions.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Blocker } from '../../api/explanation/explanation.ts';
import { isTerminalPod } from '../../api/pod.ts';
import { eventTimeMs, lastEvent, timeMs } from './cluster-view.ts';
import type { ClusterView } from './cluster-view.ts';
import { explainRefusal } from './refusal.ts';

export type WorkloadKind = 'deployment' | 'replicaset' | 'statefulset' | 'daemonset' | 'job';

/** The facts about a workload that concern its number of pods. */
export interface Workload {
  readonly kind: WorkloadKind;
  readonly object: ApiObject;
  readonly wanted: number;
  readonly has: number;
  /** Whether the controller has not observed the current spec yet. */
  readonly isUnseen: boolean;
  /** Why it intentionally creates no pods. */
  readonly rests: { readonly cause: string; readonly suggestion: string } | undefined;
  /** Objects whose events report pods that were not created. */
  readonly makers: readonly string[];
  /** The failure condition from the controller. */
  readonly failure: { readonly message: string; readonly sinceMs: number } | undefined;
  /** The pod for which a StatefulSet waits, because it creates its pods one after another. */
  readonly waitsFor: string | undefined;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
}

/** Returns all unfinished workloads. A ReplicaSet of a Deployment counts as part of it. */
export function workloadsOf(view: ClusterView): readonly Workload[] {
  const podsOf = ownedPods(view);
  const setsOf = Map.groupBy(view.replicaSets, (set) => ownerOf(set) ?? '');
  const isOfDeployment = new Set(view.deployments.map(({ metadata }) => metadata.uid));
  return [
    ...view.deployments.map((each) => ofDeployment(each, setsOf.get(each.metadata.uid) ?? [], podsOf)),
    ...view.replicaSets
      .filter((set) => !isOfDeployment.has(ownerOf(set) ?? ''))
      .map((each) => ofReplicaSet(each, podsOf)),
    ...view.statefulSets.map((each) => ofStatefulSet(each, podsOf)),
    ...view.daemonSets.map(ofDaemonSet),
    ...view.jobs.filter((job) => !isOver(job)).map((each) => ofJob(each, podsOf)),
  ];
}

type PodsOf = ReturnType<typeof ownedPods>;
type Listed<Name extends keyof ClusterView> = ClusterView[Name] extends readonly (infer T)[] ? T : never;
type Counted = Listed<'deployments'> | Listed<'replicaSets'> | Listed<'statefulSets'> | Listed<'daemonSets'>;

const plain = { isUnseen: false, rests: undefined, failure: undefined, waitsFor: undefined };

const isUnseen = ({ metadata, status }: Counted): boolean =>
  Number(metadata.generation ?? 0) > Number(status?.observedGeneration ?? 0);

const isOver = ({ status }: Listed<'jobs'>): boolean =>
  ['Complete', 'Failed'].some((type) => findCondition(status?.conditions, type)?.status === 'True');

function ofDeployment(
  object: Listed<'deployments'>,
  owned: readonly Listed<'replicaSets'>[],
  podsOf: PodsOf,
): Workload {
  const { name, namespace, uid } = object.metadata;
  const failure =
    failureOf(object.status?.conditions, 'ReplicaFailure') ??
    owned.map((set) => failureOf(set.status?.conditions, 'ReplicaFailure')).find((each) => each !== undefined);
  const suggestion = `kubectl rollout resume deployment/${name} -n ${namespace}`;
  return {
    ...plain,
    kind: 'deployment',
    object,
    wanted: object.spec?.replicas ?? 1,
    has: owned.reduce((sum, { metadata }) => sum + (podsOf.get(metadata.uid)?.length ?? 0), 0),
    isUnseen: isUnseen(object),
    rests: object.spec?.paused === true ? { cause: 'it is paused', suggestion } : undefined,
    makers: [uid, ...owned.map(({ metadata }) => metadata.uid)],
    failure,
  };
}

function ofReplicaSet(object: Listed<'replicaSets'>, podsOf: PodsOf): Workload {
  return {
    ...plain,
    kind: 'replicaset',
    object,
    wanted: object.spec?.replicas ?? 1,
    has: podsOf.get(object.metadata.uid)?.length ?? 0,
    isUnseen: isUnseen(object),
    makers: [object.metadata.uid],
    failure: failureOf(object.status?.conditions, 'ReplicaFailure'),
  };
}

function ofStatefulSet(object: Listed<'statefulSets'>, podsOf: PodsOf): Workload {
  const owned = podsOf.get(object.metadata.uid) ?? [];
  const first = owned.find(({ status }) => findCondition(status?.conditions, 'Ready')?.status !== 'True');
  return {
    ...plain,
    kind: 'statefulset',
    object,
    wanted: object.spec?.replicas ?? 1,
    has: owned.length,
    isUnseen: isUnseen(object),
    makers: [object.metadata.uid],
    waitsFor: object.spec.podManagementPolicy === 'Parallel' ? undefined : first?.metadata.name,
  };
}

function ofDaemonSet(object: Listed<'daemonSets'>): Workload {
  return {
    ...plain,
    kind: 'daemonset',
    object,
    wanted: object.status?.desiredNumberScheduled ?? 0,
    has: object.status?.currentNumberScheduled ?? 0,
    isUnseen: isUnseen(object),
    makers: [object.metadata.uid],
  };
}

function ofJob(object: Listed<'jobs'>, podsOf: PodsOf): Workload {
  const { name, namespace, uid } = object.metadata;
  const { parallelism = 1, completions, suspend } = object.spec ?? {};
  const succeeded = object.status?.succeeded ?? 0;
  const left = completions === undefined ? (succeeded > 0 ? 0 : parallelism) : completions - succeeded;
  const suggestion = `kubectl patch job ${name} -n ${namespace} -p '{"spec":{"suspend":false}}'`;
  return {
    ...plain,
    kind: 'job',
    object,
    wanted: Math.max(0, Math.min(parallelism, left)),
    has: podsOf.get(uid)?.filter((pod) => !isTerminalPod(pod)).length ?? 0,
    rests: suspend === true ? { cause: 'it is suspended', suggestion } : undefined,
    makers: [uid],
  };
}

const ownerOf = ({ metadata }: ApiObject): string | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;

function ownedPods({ pods }: ClusterView): ReadonlyMap<string, readonly Pod[]> {
  const byOwner = new Map<string, Pod[]>();
  for (const pod of pods) {
    const owner = ownerOf(pod);
    if (owner === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    byOwner.set(owner, [...(byOwner.get(owner) ?? []), pod]);
  }
  return byOwner;
}

function failureOf(conditions: readonly Condition[] | undefined, type: string): Workload['failure'] {
  const condition = conditions?.find((each) => each.type === type && each.status === 'True');
  return condition === undefined
    ? undefined
    : { message: condition.message ?? '', sinceMs: timeMs(condition.lastTransitionTime) ?? 0 };
}

/**
 * Explains why there are fewer pods than desired. A paused or suspended workload is explained only if `isNamed` is
 * true.
 */
export function explainWorkload(workload: Workload, view: ClusterView, isNamed: boolean): readonly Blocker[] {
  const { kind, object, wanted, has, isUnseen, rests, makers, failure, waitsFor } = workload;
  const { namespace, creationTimestamp } = object.metadata;
  const sinceMs = timeMs(creationTimestamp) ?? 0;
  const step = `make ${wanted - has === 1 ? 'a pod' : `${wanted - has} pods`}`;
  if (rests !== undefined && wanted > has)
    return isNamed ? [{ step, cause: rests.cause, sinceMs, suggestions: [rests.suggestion] }] : [];
  if (isUnseen)
    return [
      {
        step: 'be processed by its controller',
        cause: `the controller of ${kind}s has not seen the latest spec`,
        sinceMs,
        suggestions: ['if this persists, check that a controller manager is running'],
      },
    ];
  if (wanted <= has) return [];
  const event = makers
    .map((uid) => lastEvent(view, uid, ({ reason }) => reason === 'FailedCreate'))
    .find((each) => each !== undefined);
  const message = failure?.message ?? event?.message;
  if (message !== undefined && message !== '') {
    const { cause, suggestion } = explainRefusal(message, namespace);
    return [
      {
        step,
        cause,
        sinceMs:
          failure?.sinceMs ?? (event === undefined ? sinceMs : (timeMs(event.firstTimestamp) ?? eventTimeMs(event))),
        lastError: message,
        suggestions: [suggestion],
      },
    ];
  }
  if (waitsFor !== undefined)
    return [
      {
        step,
        cause: `it creates its pods in order, and ${waitsFor} is not ready`,
        sinceMs,
        suggestions: [`inspect ${waitsFor}`],
      },
    ];
  return [
    {
      step,
      cause: `${has} of ${wanted} are there; its controller has not made more yet`,
      sinceMs,
      suggestions: ['if this persists, check that a controller manager is running'],
    },
  ];
}
