import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { bound, buildNode, buildPod, cacheOf } from '../testing/builders.ts';
import type { ObjectLists } from '../testing/builders.ts';
import { imageLocality } from './image-locality.ts';
import { createInterPodAffinity } from './inter-pod-affinity.ts';
import { createNodeAffinity } from './node-affinity.ts';
import { nodeDeclaredFeatures } from './node-declared-features.ts';
import { nodeName } from './node-name.ts';
import { nodePorts } from './node-ports.ts';
import { createNodeResourcesBalancedAllocation } from './node-resources-balanced-allocation.ts';
import { createNodeResourcesFit } from './node-resources-fit.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';
import { createPodTopologySpread } from './pod-topology-spread.ts';
import { taintToleration } from './taint-toleration.ts';

interface Setting extends ObjectLists {
  readonly nodes: readonly Node[];
  readonly there?: readonly Pod[];
}

/**
 * What the plugin says of each node: '' for yes, `!` before what eviction cannot help; `skip`, or what it says of all
 * at once.
 */
export function filterAll(plugin: Plugin, pod: Pod, { there = [], ...world }: Setting): readonly string[] | string {
  const cache = cacheOf({ ...world, pods: there });
  const result = plugin.preFilter?.(podInfoOf(pod), cache);
  if (result === undefined || result.kind === 'skip') return 'skip';
  if (result.kind === 'rejected')
    return `${result.rejection.code === 'Unschedulable' ? '' : '!'}${result.rejection.reasons.join('; ')}`;
  return world.nodes.map(({ metadata }) => {
    const node = cache.node(metadata.name);
    assert.ok(node !== undefined);
    const rejection = result.check.filter(node);
    return rejection === undefined
      ? ''
      : `${rejection.code === 'Unschedulable' ? '' : '!'}${rejection.reasons.join('; ')}`;
  });
}

/** Normalized scores of all nodes; undefined when the plugin does not care. */
function scoreAll(plugin: Plugin, pod: Pod, { there = [], ...world }: Setting): readonly number[] | undefined {
  const cache = cacheOf({ ...world, pods: there });
  const nodes = world.nodes.map(({ metadata }) => cache.node(metadata.name)).filter((node) => node !== undefined);
  const scorer = plugin.preScore?.(podInfoOf(pod), cache, nodes);
  if (scorer === undefined) return undefined;
  const scores = nodes.map((node) => scorer.score(node));
  scorer.normalize?.(scores, nodes);
  return scores;
}

const zone = (name: string, value: string): Node => buildNode(name, { labels: { zone: value } });

describe('NodeUnschedulable', () => {
  const nodes = [buildNode('a', { spec: { unschedulable: true } }), buildNode('b')];
  it('keeps pods from cordoned nodes unless they tolerate that', () => {
    assert.deepEqual(filterAll(nodeUnschedulable, buildPod('x'), { nodes }), ['!node(s) were unschedulable', '']);
    const tolerations = [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }];
    assert.deepEqual(filterAll(nodeUnschedulable, buildPod('x', { spec: { tolerations } }), { nodes }), ['', '']);
  });
});

describe('NodeName', () => {
  it('matters only to pods that name a node', () => {
    const nodes = [buildNode('a'), buildNode('b')];
    assert.equal(filterAll(nodeName, buildPod('x'), { nodes }), 'skip');
    assert.deepEqual(filterAll(nodeName, buildPod('x', { spec: { nodeName: 'b' } }), { nodes }), [
      "!node(s) didn't match the requested node name",
      '',
    ]);
  });
});

describe('TaintToleration', () => {
  const untolerated = '!node(s) had untolerated taint(s)';
  const taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
  for (const [name, toleration, expected] of [
    ['nothing', undefined, untolerated],
    ['everything', { operator: 'Exists' }, ''],
    ['the key, whatever its value', { key: 'k', operator: 'Exists' }, ''],
    ['key and value, as by default', { key: 'k', value: 'v' }, ''],
    ['another value', { key: 'k', operator: 'Equal', value: 'w' }, untolerated],
    ['the same with another effect', { key: 'k', value: 'v', effect: 'NoExecute' }, untolerated],
    ['a comparison, which is off', { key: 'k', value: '1', operator: 'Gt' }, untolerated],
  ] as const) {
    it(`a pod that tolerates ${name}`, () => {
      const pod = buildPod('x', { spec: { tolerations: toleration === undefined ? [] : [toleration] } });
      assert.deepEqual(filterAll(taintToleration, pod, { nodes: [buildNode('a', { taints: [taint] })] }), [expected]);
    });
  }
  it('PreferNoSchedule rejects no pod, but lowers the score', () => {
    const soft = (key: string): Record<string, string> => ({ key, effect: 'PreferNoSchedule' });
    const nodes = [
      buildNode('a'),
      buildNode('b', { taints: [soft('x')] }),
      buildNode('c', { taints: [soft('x'), soft('y')] }),
    ];
    assert.deepEqual(filterAll(taintToleration, buildPod('x'), { nodes }), ['', '', '']);
    assert.deepEqual(scoreAll(taintToleration, buildPod('x'), { nodes }), [100, 50, 0]);
    assert.deepEqual(
      scoreAll(taintToleration, buildPod('x', { spec: { tolerations: [{ key: 'x', operator: 'Exists' }] } }), {
        nodes,
      }),
      [100, 100, 0],
    );
  });
});

describe('NodeAffinity', () => {
  const nodes = [zone('a', 'one'), zone('b', 'two'), buildNode('c', { labels: { cores: '8' } })];
  const no = "!node(s) didn't match Pod's node affinity/selector";
  const required = (...terms: readonly object[]): Record<string, unknown> => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
  });
  const term = (key: string, operator: string, ...values: readonly string[]): object => ({
    matchExpressions: [{ key, operator, values }],
  });
  for (const [name, spec, expected] of [
    ['nodeSelector', { nodeSelector: { zone: 'one' } }, ['', no, no]],
    ['In', required(term('zone', 'In', 'one', 'two')), ['', '', no]],
    ['NotIn, which also holds without the label', required(term('zone', 'NotIn', 'one')), [no, '', '']],
    ['Exists', required(term('zone', 'Exists')), ['', '', no]],
    ['DoesNotExist', required(term('zone', 'DoesNotExist')), [no, no, '']],
    ['Gt', required(term('cores', 'Gt', '7')), [no, no, '']],
    ['Lt', required(term('cores', 'Lt', '8')), [no, no, no]],
    [
      'several terms, of which one suffices',
      required(term('zone', 'In', 'one'), term('cores', 'Exists')),
      ['', no, ''],
    ],
    ['an empty term, which matches nothing', required({}), [no, no, no]],
    [
      'selector and affinity, both of which have to hold',
      { nodeSelector: { zone: 'two' }, ...required(term('zone', 'In', 'one')) },
      [no, no, no],
    ],
    [
      'a node by name',
      required({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }),
      [no, '', no],
    ],
    [
      'two names at once',
      required({
        matchFields: [
          { key: 'metadata.name', operator: 'In', values: ['a'] },
          { key: 'metadata.name', operator: 'In', values: ['b'] },
        ],
      }),
      '!pod affinity terms conflict',
    ],
  ] as const) {
    it(`by ${name}`, () =>
      assert.deepEqual(filterAll(createNodeAffinity(), buildPod('x', { spec }), { nodes }), expected));
  }
  it('does not concern pods that ask for nothing, unless the profile asks of all', () => {
    assert.equal(filterAll(createNodeAffinity(), buildPod('x'), { nodes }), 'skip');
    const added = createNodeAffinity({
      addedAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }],
        },
      },
    });
    assert.deepEqual(filterAll(added, buildPod('x'), { nodes }), [
      '',
      '',
      "!node(s) didn't match scheduler-enforced node affinity",
    ]);
  });
  it('adds up the weights of preferred terms', () => {
    const preferred = [
      { weight: 10, preference: term('zone', 'Exists') },
      { weight: 30, preference: term('zone', 'In', 'two') },
    ];
    assert.deepEqual(
      scoreAll(
        createNodeAffinity(),
        buildPod('x', {
          spec: { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } },
        }),
        { nodes },
      ),
      [25, 100, 0],
    );
  });
});

describe('NodePorts', () => {
  const taken = "node(s) didn't have free ports for the requested pod ports";
  const withPort = (name: string, port: object): Pod =>
    buildPod(name, { spec: { containers: [{ name: 'main', image: 'x', ports: [{ containerPort: 1, ...port }] }] } });
  const nodes = [buildNode('a')];
  for (const [name, held, wanted, expected] of [
    ['the same', { hostPort: 80 }, { hostPort: 80 }, taken],
    ['another port', { hostPort: 80 }, { hostPort: 81 }, ''],
    ['another protocol', { hostPort: 80, protocol: 'TCP' }, { hostPort: 80, protocol: 'UDP' }, ''],
    ['another address', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '10.0.0.2' }, ''],
    ['all addresses', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80 }, taken],
    ['one address when all are held', { hostPort: 80, hostIP: '0.0.0.0' }, { hostPort: 80, hostIP: '10.0.0.2' }, taken],
  ] as const) {
    it(`wanting ${name}`, () =>
      assert.deepEqual(
        filterAll(nodePorts, withPort('x', wanted), { nodes, there: [bound(withPort('y', held), 'a')] }),
        [expected],
      ));
  }
  it('does not concern pods without host ports', () =>
    assert.equal(filterAll(nodePorts, withPort('x', {}), { nodes }), 'skip'));
});

describe('NodeResourcesFit', () => {
  const fit = createNodeResourcesFit();
  it('names all that is short, and tells what could become free from what never will', () => {
    const nodes = [
      buildNode('a', { allocatable: { pods: '1' } }),
      buildNode('b'),
      buildNode('c', { allocatable: { 'example.com/gpu': '2' } }),
    ];
    const there = [
      bound(buildPod('p', { requests: { cpu: '3', 'example.com/gpu': '1' } }), 'a'),
      bound(buildPod('q', { requests: { cpu: '3', 'example.com/gpu': '1' } }), 'c'),
    ];
    const pod = buildPod('x', { requests: { cpu: '2', 'example.com/gpu': '2' } });
    assert.deepEqual(filterAll(fit, pod, { nodes, there }), [
      '!Too many pods; Insufficient cpu; Insufficient example.com/gpu',
      '!Insufficient example.com/gpu',
      'Insufficient cpu; Insufficient example.com/gpu',
    ]);
  });
  it('counts overhead, init containers at their peak, sidecars always, and pod-level requests in place of all', () => {
    const asks = (cpu: string): object => ({ name: `c${cpu}`, image: 'x', resources: { requests: { cpu } } });
    const fits = (spec: Record<string, unknown>, cpu: string): boolean =>
      filterAll(fit, buildPod('x', { spec }), { nodes: [buildNode('a', { allocatable: { cpu } })] })[0] === '';
    const both = (spec: Record<string, unknown>, cpu: string, less: string): void =>
      assert.deepEqual([fits(spec, cpu), fits(spec, less)], [true, false]);
    both({ containers: [asks('1')], overhead: { cpu: '500m' } }, '1500m', '1499m');
    both({ containers: [asks('1')], initContainers: [asks('3')] }, '3', '2999m');
    both({ containers: [asks('1')], initContainers: [{ ...asks('2'), restartPolicy: 'Always' }] }, '3', '2999m');
    both({ containers: [asks('1')], resources: { requests: { cpu: '2' } } }, '2', '1999m');
  });
  it('lets pods without requests onto full nodes while there is a place for a pod', () => {
    const there = [bound(buildPod('p', { requests: { cpu: '9' } }), 'a')];
    assert.deepEqual(filterAll(fit, buildPod('x'), { nodes: [buildNode('a')], there }), ['']);
    assert.deepEqual(
      filterAll(fit, buildPod('x'), { nodes: [buildNode('a', { allocatable: { pods: '1' } })], there }),
      ['Too many pods'],
    );
  });
  it('ignores resources that an extender manages', () => {
    const ignoring = createNodeResourcesFit({
      ignoredResources: ['example.com/a'],
      ignoredResourceGroups: ['example.org'],
    });
    const pod = buildPod('x', { requests: { 'example.com/a': '1', 'example.com/b': '1', 'example.org/c': '1' } });
    assert.deepEqual(filterAll(ignoring, pod, { nodes: [buildNode('a')] }), ['!Insufficient example.com/b']);
  });
  const nodes = [
    buildNode('a', { allocatable: { cpu: '4', memory: '4Gi' } }),
    buildNode('b', { allocatable: { cpu: '4', memory: '4Gi' } }),
  ];
  const there = [bound(buildPod('p', { requests: { cpu: '1', memory: '2Gi' } }), 'b')];
  const one = buildPod('x', { requests: { cpu: '1', memory: '1Gi' } });
  const resources = [
    { name: 'cpu', weight: 1 },
    { name: 'memory', weight: 1 },
  ];
  it('likes what is least allocated, by default', () =>
    assert.deepEqual(scoreAll(fit, one, { nodes, there }), [75, 37]));
  it('likes what is most allocated, if told to', () => {
    assert.deepEqual(
      scoreAll(createNodeResourcesFit({ scoringStrategy: { type: 'MostAllocated', resources } }), one, {
        nodes,
        there,
      }),
      [25, 62],
    );
  });
  it('likes a given share best, if told to', () => {
    const shape = [
      { utilization: 0, score: 0 },
      { utilization: 50, score: 10 },
      { utilization: 100, score: 0 },
    ];
    assert.deepEqual(
      scoreAll(
        createNodeResourcesFit({ scoringStrategy: { type: 'RequestedToCapacityRatio', resources, shape } }),
        one,
        { nodes, there },
      ),
      [50, 75],
    );
  });
  it('takes containers without requests for small ones, so that they do not pile up', () => {
    assert.deepEqual(scoreAll(fit, buildPod('x'), { nodes, there: [bound(buildPod('p'), 'a')] }), [92, 96]);
  });
});

describe('NodeResourcesBalancedAllocation', () => {
  it('likes nodes on which the pod makes the shares more even', () => {
    const nodes = [buildNode('a'), buildNode('b')];
    const there = [
      bound(buildPod('p', { requests: { memory: '4Gi' } }), 'a'),
      bound(buildPod('q', { requests: { cpu: '2' } }), 'b'),
    ];
    assert.deepEqual(
      scoreAll(createNodeResourcesBalancedAllocation(), buildPod('x', { requests: { cpu: '2' } }), { nodes, there }),
      [87, 62],
    );
  });
  it('does not concern pods without requests', () =>
    assert.equal(
      scoreAll(createNodeResourcesBalancedAllocation(), buildPod('x'), { nodes: [buildNode('a')] }),
      undefined,
    ));
});

describe('ImageLocality', () => {
  it('likes nodes that have large images, the more nodes have them', () => {
    const images = (megabytes: number): Record<string, unknown> => ({
      images: [{ names: ['app:1', 'app@sha256:1'], sizeBytes: megabytes * 1024 * 1024 }],
    });
    const nodes = [
      buildNode('a', { status: images(1000) }),
      buildNode('b', { status: images(20) }),
      buildNode('c'),
      buildNode('d'),
    ];
    assert.deepEqual(scoreAll(imageLocality, buildPod('x', { image: 'app:1' }), { nodes }), [48, 0, 0, 0]);
    assert.deepEqual(scoreAll(imageLocality, buildPod('x', { image: 'other' }), { nodes }), [0, 0, 0, 0]);
  });
});

describe('NodeDeclaredFeatures', () => {
  it('matters only to pods that use such a feature', () => {
    const nodes = [
      buildNode('a'),
      buildNode('b', { status: { declaredFeatures: ['UserNamespacesHostNetworkSupport'] } }),
    ];
    assert.equal(filterAll(nodeDeclaredFeatures, buildPod('x'), { nodes }), 'skip');
    assert.deepEqual(
      filterAll(nodeDeclaredFeatures, buildPod('x', { spec: { hostNetwork: true, hostUsers: false } }), { nodes }),
      ["!node(s) didn't match Pod's required features", ''],
    );
  });
});

describe('PodTopologySpread', () => {
  const spread = createPodTopologySpread();
  const no = "node(s) didn't match pod topology spread constraints";
  const labels = { app: 'web' };
  const constraint = {
    maxSkew: 1,
    topologyKey: 'zone',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  const pod = (...constraints: readonly object[]): Pod =>
    buildPod('x', { labels, spec: { topologySpreadConstraints: constraints } });
  const nodes = [zone('a', 'one'), zone('b', 'two'), buildNode('c')];
  const on = (node: string, name: string, more: object = {}): Pod => bound(buildPod(name, { labels, ...more }), node);
  it('keeps the difference between domains small, and off nodes that are in none', () => {
    assert.deepEqual(filterAll(spread, pod(constraint), { nodes, there: [on('a', 'p')] }), [
      no,
      '',
      `!${no} (missing required label)`,
    ]);
    assert.deepEqual(
      filterAll(spread, pod({ ...constraint, maxSkew: 2 }), { nodes, there: [on('a', 'p')] }).slice(0, 2),
      ['', ''],
    );
  });
  it('counts neither other namespaces, nor other labels, nor pods that are leaving', () => {
    const there = [
      on('a', 'p', { namespace: 'other' }),
      on('a', 'q', { labels: { app: 'db' } }),
      on('a', 'r', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    ];
    assert.deepEqual(filterAll(spread, pod(constraint), { nodes, there }).slice(0, 2), ['', '']);
  });
  it('takes missing domains for empty ones when more are asked for', () => {
    const there = [on('a', 'p'), on('b', 'q')];
    assert.deepEqual(filterAll(spread, pod({ ...constraint, minDomains: 3 }), { nodes, there }).slice(0, 2), [no, no]);
  });
  it('adds the pod’s own value of matchLabelKeys to the selector', () => {
    const versioned = {
      ...pod({ ...constraint, matchLabelKeys: ['v'] }),
      metadata: { ...pod().metadata, labels: { ...labels, v: '2' } },
    };
    const there = [on('a', 'p', { labels: { ...labels, v: '1' } })];
    assert.deepEqual(filterAll(spread, versioned, { nodes, there }).slice(0, 2), ['', '']);
  });
  it('leaves nodes out that the pod may not use, and tainted ones only if told to', () => {
    const selecting = (policy: string): Pod => ({
      ...pod({ ...constraint, nodeAffinityPolicy: policy }),
      spec: { ...pod({ ...constraint, nodeAffinityPolicy: policy }).spec, nodeSelector: { zone: 'one' } },
    });
    const there = [on('a', 'p')];
    assert.equal(filterAll(spread, selecting('Honor'), { nodes, there })[0], '');
    assert.equal(filterAll(spread, selecting('Ignore'), { nodes, there })[0], no);
    const tainted = [
      zone('a', 'one'),
      buildNode('b', { labels: { zone: 'two' }, taints: [{ key: 'k', effect: 'NoSchedule' }] }),
    ];
    assert.equal(filterAll(spread, pod(constraint), { nodes: tainted, there })[0], no);
    assert.equal(
      filterAll(spread, pod({ ...constraint, nodeTaintsPolicy: 'Honor' }), { nodes: tainted, there })[0],
      '',
    );
  });
  it('likes domains with fewer pods where it may not insist', () => {
    assert.deepEqual(
      scoreAll(spread, pod({ ...constraint, whenUnsatisfiable: 'ScheduleAnyway' }), {
        nodes,
        there: [on('a', 'p'), on('a', 'q'), on('b', 'r')],
      }),
      [33, 100, 0],
    );
  });
  it('spreads the pods of a service over nodes when they say nothing', () => {
    const service = { metadata: { name: 's', namespace: 'default', uid: 's' }, spec: { selector: labels } };
    const setting = { nodes, there: [on('a', 'p'), on('a', 'q'), on('b', 'r')] };
    assert.equal(scoreAll(spread, pod(), setting), undefined);
    const [first = 0, second = 0, third = 0] = scoreAll(spread, pod(), { ...setting, services: [service] }) ?? [];
    assert.ok(first < second && second < third && third === 100);
  });
});

describe('InterPodAffinity', () => {
  const plugin = createInterPodAffinity();
  const near = "!node(s) didn't match pod affinity rules";
  const far = "node(s) didn't match pod anti-affinity rules";
  const existing = "node(s) didn't satisfy existing pods anti-affinity rules";
  const term = (app: string, more: object = {}): object => ({
    topologyKey: 'zone',
    labelSelector: { matchLabels: { app } },
    ...more,
  });
  const pod = (name: string, app: string, affinity: object = {}, more: object = {}): Pod =>
    buildPod(name, { labels: { app }, spec: { affinity }, ...more });
  const required = (kind: 'podAffinity' | 'podAntiAffinity', ...terms: readonly object[]): object => ({
    [kind]: { requiredDuringSchedulingIgnoredDuringExecution: terms },
  });
  const nodes = [zone('a', 'one'), zone('b', 'two'), buildNode('c')];
  const db = bound(pod('db', 'db'), 'a');
  it('brings pods to where those are that they want to be near', () => {
    assert.deepEqual(filterAll(plugin, pod('x', 'web', required('podAffinity', term('db'))), { nodes, there: [db] }), [
      '',
      near,
      near,
    ]);
  });
  it('lets the first of a group be anywhere in a domain, but not when it wants to be near others', () => {
    assert.deepEqual(filterAll(plugin, pod('x', 'web', required('podAffinity', term('web'))), { nodes }), [
      '',
      '',
      near,
    ]);
    assert.deepEqual(filterAll(plugin, pod('x', 'web', required('podAffinity', term('db'))), { nodes }), [
      near,
      near,
      near,
    ]);
  });
  it('keeps pods from those that they do not want near', () => {
    assert.deepEqual(
      filterAll(plugin, pod('x', 'web', required('podAntiAffinity', term('db'))), { nodes, there: [db] }),
      [far, '', ''],
    );
  });
  it('keeps pods from those that do not want them near', () => {
    const shy = bound(pod('shy', 'shy', required('podAntiAffinity', term('web'))), 'b');
    assert.deepEqual(filterAll(plugin, pod('x', 'web'), { nodes, there: [shy] }), ['', existing, '']);
    assert.equal(filterAll(plugin, pod('x', 'other'), { nodes, there: [shy] }), 'skip');
  });
  it('means pods of the own namespace, of those that are named, or of those with the labels', () => {
    const there = [bound(pod('db', 'db', {}, { namespace: 'prod' }), 'a')];
    const namespaces: readonly { readonly name: string; readonly labels: Record<string, string> }[] = [
      { name: 'prod', labels: { env: 'prod' } },
      { name: 'default', labels: {} },
    ];
    const filter = (more: object): string | undefined =>
      filterAll(plugin, pod('x', 'web', required('podAffinity', term('db', more))), { nodes, there, namespaces })[0];
    assert.deepEqual(
      [
        filter({}),
        filter({ namespaces: ['prod'] }),
        filter({ namespaceSelector: { matchLabels: { env: 'prod' } } }),
        filter({ namespaceSelector: { matchLabels: { env: 'dev' } } }),
        filter({ namespaceSelector: {} }),
      ],
      [near, '', '', near, ''],
    );
  });
  it('adds what is preferred on both sides', () => {
    const preferred = (kind: string, weight: number, app: string): object => ({
      [kind]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term(app) }] },
    });
    assert.deepEqual(
      scoreAll(plugin, pod('x', 'web', preferred('podAffinity', 10, 'db')), { nodes, there: [db] }),
      [100, 0, 0],
    );
    assert.deepEqual(
      scoreAll(plugin, pod('x', 'web', preferred('podAntiAffinity', 10, 'db')), { nodes, there: [db] }),
      [0, 100, 100],
    );
    const wanting = bound(pod('fan', 'fan', preferred('podAffinity', 30, 'web')), 'b');
    const hard = bound(pod('hard', 'hard', required('podAffinity', term('web'))), 'a');
    assert.deepEqual(scoreAll(plugin, pod('x', 'web'), { nodes, there: [wanting, hard] }), [3, 100, 0]);
    assert.equal(scoreAll(plugin, pod('x', 'web'), { nodes, there: [db] }), undefined);
  });
});
