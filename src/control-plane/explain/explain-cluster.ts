import type { Event } from '../../api/core/event.ts';
import type { PodExplanation, TimelineEntry } from '../../api/explanation/explanation.ts';
import type { Snapshot } from '../scheduler/framework/snapshot.ts';
import { eventTimeMs, podKeyOf } from './cluster-view.ts';
import type { ClusterView } from './cluster-view.ts';
import { eventsOf, explainPod } from './explain-pod.ts';
import { explainWorkload, workloadsOf } from './explain-workload.ts';
import { snapshotOf } from './static-snapshot.ts';

export interface ExplainQuestion {
  /** The namespace; absent for all. */
  readonly namespace?: string;
  /** The name of a pod or a workload, or `deployment/web`; absent for everything. */
  readonly name?: string;
}

/** kubectl's short names of workloads. */
const shortNames: ReadonlyMap<string, string> = new Map([
  ['po', 'pod'],
  ['pods', 'pod'],
  ['deploy', 'deployment'],
  ['deployments', 'deployment'],
  ['rs', 'replicaset'],
  ['replicasets', 'replicaset'],
  ['sts', 'statefulset'],
  ['statefulsets', 'statefulset'],
  ['ds', 'daemonset'],
  ['daemonsets', 'daemonset'],
  ['jobs', 'job'],
]);

/**
 * Explains pods, and then controllers with missing pods. A named object is included even if it is settled, with its
 * dependents. It only uses the view.
 */
export function explainCluster(view: ClusterView, { namespace, name }: ExplainQuestion): readonly PodExplanation[] {
  let snapshot: Snapshot | undefined;
  const lazily = (): Snapshot => (snapshot ??= snapshotOf(view));
  const isNear = (each: { readonly metadata: { readonly namespace: string } }): boolean =>
    namespace === undefined || each.metadata.namespace === namespace;
  const meant = name === undefined ? undefined : parseName(name);
  const workloads = workloadsOf(view).filter(({ object }) => isNear(object));
  const named = workloads.filter(
    ({ kind, object }) =>
      meant !== undefined &&
      meant.name === object.metadata.name &&
      meant.kind !== 'pod' &&
      (meant.kind === undefined || meant.kind === kind),
  );
  const makers = new Set(named.flatMap(({ makers }) => makers));
  const pods = view.pods.filter((pod) => {
    if (!isNear(pod)) return false;
    if (meant === undefined) return true;
    const isOwned = pod.metadata.ownerReferences?.some(({ uid }) => makers.has(uid)) === true;
    return isOwned || (pod.metadata.name === meant.name && (meant.kind === undefined || meant.kind === 'pod'));
  });
  return [
    ...(meant === undefined ? workloads : named).flatMap((workload): PodExplanation[] => {
      const { kind, object, has, wanted, makers: own } = workload;
      const blockers = explainWorkload(workload, view, meant !== undefined);
      if (blockers.length === 0 && meant === undefined) return [];
      const { uid, namespace: where, name: objectName } = object.metadata;
      return [
        {
          uid,
          namespace: where,
          name: `${kind} ${objectName}`,
          phase: `${has} of ${wanted} pods`,
          settled: blockers.length === 0,
          blockers,
          suggestions: [],
          timeline: timelineOf(own.flatMap((each) => eventsOf(view, each))),
        },
      ];
    }),
    ...pods.map((pod): PodExplanation => {
      const blockers = explainPod(pod, view, lazily);
      const { uid, namespace: where, name: podName } = pod.metadata;
      return {
        uid,
        namespace: where,
        name: podName,
        phase: pod.status?.phase ?? 'Pending',
        settled: blockers.length === 0,
        blockers,
        suggestions: [],
        timeline: timelineOf(eventsOf(view, uid), view.agents.get(podKeyOf(pod))),
      };
    }),
  ];
}

function parseName(text: string): { readonly kind: string | undefined; readonly name: string } {
  const [first = '', second] = text.split('/', 2);
  if (second === undefined) return { kind: undefined, name: first };
  const kind = (first.split('.')[0] ?? '').toLowerCase();
  return { kind: shortNames.get(kind) ?? kind, name: second };
}

/** The agent's timeline contains the events and more. */
function timelineOf(events: readonly Event[], agent?: PodExplanation): readonly TimelineEntry[] {
  if (agent !== undefined && agent.timeline.length > 0) return agent.timeline;
  return events.map((event) => ({
    atMs: eventTimeMs(event),
    kind: 'event',
    type: event.type === 'Warning' ? 'Warning' : 'Normal',
    reason: event.reason ?? '',
    message: event.message ?? '',
    count: event.series?.count ?? event.count ?? 1,
  }));
}
