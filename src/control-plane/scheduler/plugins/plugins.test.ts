import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import { bound, buildNode, buildPod, cacheOf } from '../testing/builders.ts';
import { imageLocality } from './image-locality.ts';
import { createNodeAffinity } from './node-affinity.ts';
import { nodeDeclaredFeatures } from './node-declared-features.ts';
import { nodeName } from './node-name.ts';
import { nodePorts } from './node-ports.ts';
import { createNodeResourcesBalancedAllocation } from './node-resources-balanced-allocation.ts';
import { createNodeResourcesFit } from './node-resources-fit.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';
import { taintToleration } from './taint-toleration.ts';
import { filterAll, scoreAll } from '../testing/run-plugin.ts';

const zone = (name: string, value: string): Node => buildNode(name, { labels: { zone: value } });

describe('NodeUnschedulable', () => {
  const nodes = [buildNode('a', { spec: { unschedulable: true } }), buildNode('b')];
  it('rejects cordoned nodes unless the pod tolerates the taint', () => {
    assert.deepEqual(filterAll(nodeUnschedulable, buildPod('x'), { nodes }), ['!node(s) were unschedulable', '']);
    const tolerations = [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }];
    assert.deepEqual(filterAll(nodeUnschedulable, buildPod('x', { spec: { tolerations } }), { nodes }), ['', '']);
  });
});

describe('NodeName', () => {
  it('applies only to pods with a node name', () => {
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
  it('skips pods without affinity, unless the profile adds some', () => {
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
  it('adds the weights of matching preferred terms', () => {
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

describe('NodeAffinity by the names of nodes', () => {
  const field = (...values: readonly string[]): object => ({ key: 'metadata.name', operator: 'In', values });
  const names = (...terms: readonly object[]): string | undefined => {
    const required = { nodeSelectorTerms: terms };
    const spec = { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };
    const nodes = [buildNode('a'), buildNode('b')];
    const result = createNodeAffinity().preFilter?.(podInfoOf(buildPod('x', { spec })), cacheOf({ nodes, pods: [] }));
    if (result?.kind !== 'check') return result?.kind;
    return result.nodeNames === undefined ? 'all' : [...result.nodeNames].join(' ');
  };

  it('checks only nodes that every term names', () => {
    assert.equal(names({ matchFields: [field('a')] }, { matchFields: [field('b', 'c')] }), 'a b c');
    assert.equal(names({ matchFields: [field('a', 'b'), field('b', 'c')] }), 'b');
    assert.equal(
      names({ matchFields: [field('a')] }, { matchExpressions: [{ key: 'zone', operator: 'Exists' }] }),
      'all',
    );
    assert.equal(names({ matchFields: [{ ...field('a'), operator: 'NotIn' }] }), 'all');
    assert.equal(names({ matchFields: [field('a'), field('b')] }), 'rejected');
  });

  it('scores the preferences of the profile and of the pod', () => {
    const preferring = (key: string, weight: number) => ({
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight, preference: { matchExpressions: [{ key, operator: 'Exists' as const }] } },
      ],
    });
    const nodes = [
      buildNode('a', { labels: { zone: 'z' } }),
      buildNode('b', { labels: { disk: 'ssd' } }),
      buildNode('c'),
    ];
    const plugin = createNodeAffinity({ addedAffinity: preferring('zone', 10) });
    assert.deepEqual(scoreAll(plugin, buildPod('x'), { nodes }), [100, 0, 0]);
    const own = buildPod('x', { spec: { affinity: { nodeAffinity: preferring('disk', 5) } } });
    assert.deepEqual(scoreAll(plugin, own, { nodes }), [100, 50, 0]);
    assert.equal(scoreAll(createNodeAffinity(), buildPod('x'), { nodes }), undefined);
    assert.equal(scoreAll(createNodeAffinity(), buildPod('x', { spec: { affinity: {} } }), { nodes }), undefined);
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
    it(`handles ${name}`, () =>
      assert.deepEqual(
        filterAll(nodePorts, withPort('x', wanted), { nodes, there: [bound(withPort('y', held), 'a')] }),
        [expected],
      ));
  }
  it('skips pods without host ports', () => assert.equal(filterAll(nodePorts, withPort('x', {}), { nodes }), 'skip'));
});

describe('NodeResourcesFit', () => {
  const fit = createNodeResourcesFit();
  it('lists all insufficient resources, and tells whether evictions could help', () => {
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
  it('counts overhead, the peak of init containers, sidecars, and pod-level requests instead of container requests', () => {
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
  it('accepts pods without requests on full nodes below the pod limit', () => {
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
  it('prefers the node with the lowest allocation by default', () =>
    assert.deepEqual(scoreAll(fit, one, { nodes, there }), [75, 37]));
  it('prefers the node with the highest allocation if configured', () => {
    assert.deepEqual(
      scoreAll(createNodeResourcesFit({ scoringStrategy: { type: 'MostAllocated', resources } }), one, {
        nodes,
        there,
      }),
      [25, 62],
    );
  });
  it('prefers the configured utilization', () => {
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
  it('scores containers without requests as small ones, so that they do not accumulate on one node', () => {
    assert.deepEqual(scoreAll(fit, buildPod('x'), { nodes, there: [bound(buildPod('p'), 'a')] }), [92, 96]);
  });
});

describe('NodeResourcesBalancedAllocation', () => {
  it('prefers nodes whose resources are used more evenly with the pod', () => {
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
  it('skips pods without requests', () =>
    assert.equal(
      scoreAll(createNodeResourcesBalancedAllocation(), buildPod('x'), { nodes: [buildNode('a')] }),
      undefined,
    ));
});

describe('ImageLocality', () => {
  it('prefers nodes that have large images, and weights images by the number of nodes that have them', () => {
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
  it('applies only to pods that use such a feature', () => {
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
