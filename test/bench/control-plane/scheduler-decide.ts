// How many decisions a second the scheduler alone makes: no API server, no binding. `node
// test/bench/control-plane/scheduler-decide.ts`
import { schedulePod } from '../../../src/control-plane/scheduler/decide/schedule-pod.ts';
import { PodInfo } from '../../../src/control-plane/scheduler/framework/pod-info.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Pod } from '../../../src/api/core/pod.ts';
import {
  bound,
  buildNode,
  buildPod,
  cacheOf,
  defaultProfile,
} from '../../../src/control-plane/scheduler/testing/builders.ts';
import type { PodChanges, ClusterParts } from '../../../src/control-plane/scheduler/testing/builders.ts';

const nodeCount = 100;
const podCount = 1000;
const warmUps = 200;

interface Case {
  readonly name: string;
  readonly pod: PodChanges;
  readonly objects?: Omit<ClusterParts, 'nodes' | 'pods'>;
  /** The number of pods that are already on nodes, distributed over all nodes. */
  readonly present?: number;
}

const labels = { app: 'web' };
const plain: PodChanges = { labels, requests: { cpu: '50m', memory: '64Mi' } };
const selector = { matchLabels: labels };
const service = { metadata: { name: 'web', namespace: 'default', uid: 's' }, spec: { selector: labels } };
const affine = (kind: 'podAffinity' | 'podAntiAffinity', topologyKey: string): PodChanges => ({
  ...plain,
  spec: {
    affinity: {
      [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: selector }] },
    },
  },
});

const cases: readonly Case[] = [
  { name: 'plain', pod: plain },
  { name: 'of a service (default spreading)', pod: plain, objects: { services: [service as never] } },
  {
    name: 'hard spreading over zones',
    pod: {
      ...plain,
      spec: {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: selector,
          },
        ],
      },
    },
  },
  { name: 'affinity by zone', pod: affine('podAffinity', 'topology.kubernetes.io/zone') },
  { name: 'anti-affinity by node (100 fit)', pod: affine('podAntiAffinity', 'kubernetes.io/hostname') },
  { name: 'fits nowhere', pod: { ...plain, requests: { cpu: '100' } } },
  {
    name: 'preempts, 1000 pods there',
    pod: { ...plain, requests: { cpu: '3900m' }, spec: { priority: 100 } },
    present: 1000,
  },
];

function measure({ pod, objects, present = 0 }: Case): {
  readonly perSecond: number;
  readonly microsEach: number;
  readonly placed: number;
} {
  const nodes = Array.from({ length: nodeCount }, (_, index) =>
    buildNode(`node-${index}`, { labels: { 'topology.kubernetes.io/zone': `zone-${index % 3}` } }),
  );
  const there = Array.from({ length: present }, (_, index) =>
    bound(buildPod(`there-${index}`, { ...plain, requests: { cpu: '390m' } }), `node-${index % nodeCount}`),
  );
  const pods = Array.from({ length: warmUps + podCount }, (_, index) => buildPod(`pod-${index}`, pod));
  const run = (some: readonly Pod[]): number => {
    const cache = cacheOf({ nodes, pods: there, ...objects });
    const random = seededRandom(1);
    let start = 0;
    let placed = 0;
    for (const each of some) {
      const decision = schedulePod(cache, new PodInfo(each), profile, { start, random });
      if (decision.kind === 'noNodes') continue;
      start = decision.nextStart;
      if (decision.kind !== 'placed') continue;
      cache.assume(bound(each, decision.nodeName));
      placed++;
    }
    return placed;
  };
  const profile = defaultProfile();
  run(pods.slice(0, warmUps));
  const beginMs = performance.now();
  const placed = run(pods.slice(warmUps));
  const tookMs = performance.now() - beginMs;
  return {
    perSecond: Math.round((podCount / tookMs) * 1000),
    microsEach: Math.round((tookMs / podCount) * 1000),
    placed,
  };
}

console.log(`${podCount} pods over ${nodeCount} nodes, decisions alone:`);
for (const each of cases) {
  const { perSecond, microsEach, placed } = measure(each);
  console.log(
    `${each.name.padEnd(36)} ${String(perSecond).padStart(7)} a second  ${String(microsEach).padStart(6)} µs each  ${placed} placed`,
  );
}
