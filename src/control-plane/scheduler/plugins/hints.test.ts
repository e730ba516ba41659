import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterEvent } from '../framework/cluster-event.ts';
import { mayHelp, nodeActions, podActions } from '../framework/cluster-event.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { createNodeAffinity } from './node-affinity.ts';
import { bound, buildNode, buildPod, defaultProfile } from '../testing/builders.ts';

const { plugins } = defaultProfile();
const helps = (plugin: string, pod: Pod, event: ClusterEvent): boolean =>
  mayHelp(plugins.get(plugin)?.hints ?? {}, pod, event);

const term = (app: string): object => ({ topologyKey: 'zone', labelSelector: { matchLabels: { app } } });
const wanting = (kind: string, app: string): Pod =>
  buildPod('x', {
    labels: { app: 'x' },
    spec: { affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] } } },
  });
const there = (app: string): Pod => bound(buildPod(app, { labels: { app } }), 'a');
const added = (after: Pod): ClusterEvent => ({ resource: 'Pod', actions: ['Add'], after });
const removed = (before: Pod): ClusterEvent => ({ resource: 'Pod', actions: ['Delete'], before });
const changed = (before: Pod, after: Pod): ClusterEvent => ({
  resource: 'Pod',
  actions: podActions(before, after),
  before,
  after,
});
const relabelled = (from: string, to: string): ClusterEvent =>
  changed(there(from), { ...there(from), metadata: { ...there(from).metadata, labels: { app: to } } });

const nodeAdded = (after: Node): ClusterEvent => ({ resource: 'Node', actions: ['Add'], after });
const nodeRemoved = (before: Node): ClusterEvent => ({ resource: 'Node', actions: ['Delete'], before });
const nodeChanged = (before: Node, after: Node): ClusterEvent => ({
  resource: 'Node',
  actions: nodeActions(before, after),
  before,
  after,
});
const helpful = (plugin: string, pod: Pod, events: Readonly<Record<string, ClusterEvent>>): string[] =>
  Object.entries(events).flatMap(([what, event]) => (helps(plugin, pod, event) ? [what] : []));

describe('hints for a pod that no node fits', () => {
  const plain = buildNode('a');
  const tolerating = (pod: Pod, tolerations: readonly object[]): Pod => ({
    ...pod,
    spec: { ...pod.spec, tolerations: tolerations as never },
  });

  it('TaintToleration: a node without the taint is added, the taint is removed, or the pod tolerates it', () => {
    const [tainted, other] = ['k', 'other'].map((key) => buildNode('a', { taints: [{ key, effect: 'NoSchedule' }] }));
    const soft = buildNode('a', { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] });
    if (tainted === undefined || other === undefined) assert.fail();
    const pod = buildPod('x');
    const tolerates = tolerating(pod, [{ key: 'k', operator: 'Exists' }]);
    const events = {
      'a plain node': nodeAdded(plain),
      'a tainted node': nodeAdded(tainted),
      'a softly tainted node': nodeAdded(soft),
      'the taint goes': nodeChanged(tainted, plain),
      'the taint comes': nodeChanged(plain, tainted),
      'another taint takes its place': nodeChanged(tainted, other),
      'it becomes soft': nodeChanged(tainted, soft),
      'a soft one goes': nodeChanged(soft, plain),
      'the pod tolerates it': changed(pod, tolerates),
      'another pod tolerates it': changed(
        buildPod('y', { uid: 'y' }),
        tolerating(buildPod('y', { uid: 'y' }), [{ operator: 'Exists' }]),
      ),
    };
    assert.deepEqual(helpful('TaintToleration', pod, events), [
      ...['a plain node', 'a softly tainted node', 'the taint goes', 'it becomes soft', 'the pod tolerates it'],
    ]);
    assert.deepEqual(helpful('TaintToleration', tolerates, { 'a tainted node': nodeAdded(tainted) }), [
      'a tainted node',
    ]);
  });

  it('NodeUnschedulable: an uncordoned node is added, the cordon is removed, or the pod tolerates it', () => {
    const cordoned = buildNode('a', { spec: { unschedulable: true } });
    const pod = buildPod('x');
    const tolerates = (key: string, whose = pod): ClusterEvent =>
      changed(whose, tolerating(whose, [{ key: `node.kubernetes.io/${key}`, operator: 'Exists' }]));
    const events = {
      'a plain node': nodeAdded(plain),
      'a cordoned node': nodeAdded(cordoned),
      'the cordon goes': nodeChanged(cordoned, plain),
      'the cordon comes': nodeChanged(plain, cordoned),
      'a taint comes': nodeChanged(plain, buildNode('a', { taints: [{ key: 'k', effect: 'NoSchedule' }] })),
      'the pod tolerates it': tolerates('unschedulable'),
      'the pod tolerates something else': tolerates('not-ready'),
      'another pod tolerates it': tolerates('unschedulable', buildPod('y', { uid: 'y' })),
    };
    assert.deepEqual(helpful('NodeUnschedulable', pod, events), [
      ...['a plain node', 'the cordon goes', 'the pod tolerates it'],
    ]);
  });

  it('NodeAffinity: a node with the labels is added, or a node gets them', () => {
    const [one, two] = ['one', 'two'].map((zone) => buildNode('a', { labels: { zone } }));
    if (one === undefined || two === undefined) assert.fail();
    const pod = buildPod('x', { spec: { nodeSelector: { zone: 'one' } } });
    const events = {
      'such a node': nodeAdded(one),
      'another node': nodeAdded(two),
      'a node gets the label': nodeChanged(two, one),
      'a node loses the label': nodeChanged(one, two),
      'a node has it already': nodeChanged(one, buildNode('a', { labels: { zone: 'one', more: 'x' } })),
      'such a node goes': nodeRemoved(one),
    };
    assert.deepEqual(helpful('NodeAffinity', pod, events), ['such a node', 'a node gets the label']);
    const ofProfile =
      createNodeAffinity({
        addedAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['one'] }] }],
          },
        },
      }).hints ?? {};
    assert.deepEqual(
      Object.entries(events).flatMap(([what, event]) => (mayHelp(ofProfile, buildPod('y'), event) ? [what] : [])),
      ['such a node', 'a node gets the label'],
      'what the profile asks for counts as well',
    );
  });

  it('NodePorts: a node is added, or a pod with the port is deleted', () => {
    const withPort = (name: string, hostPort: number, more: object = {}): Pod =>
      buildPod(name, {
        spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1, hostPort, ...more }] }] },
      });
    const events = {
      'a node': nodeAdded(plain),
      'the port is free': removed(bound(withPort('y', 80), 'a')),
      'another port is free': removed(bound(withPort('y', 81), 'a')),
      'the port is free for UDP': removed(bound(withPort('y', 80, { protocol: 'UDP' }), 'a')),
      'a pod without ports goes': removed(bound(buildPod('y'), 'a')),
    };
    assert.deepEqual(helpful('NodePorts', withPort('x', 80), events), ['a node', 'the port is free']);
    const two = buildPod('x', {
      spec: {
        containers: [
          { name: 'c', image: 'i', ports: [80, 81].map((port) => ({ containerPort: port, hostPort: port })) },
        ],
      },
    });
    assert.equal(helps('NodePorts', two, events['another port is free']), true, 'one of two ports');
  });

  it('NodeName: a node is added', () => {
    assert.deepEqual(helpful('NodeName', buildPod('x'), { comes: nodeAdded(plain), goes: nodeRemoved(plain) }), [
      'comes',
    ]);
  });

  it('PodTopologySpread: matching pods are added, deleted or relabelled, or the domains change', () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'db' } },
    };
    const pod = buildPod('x', { uid: 'x', spec: { topologySpreadConstraints: [constraint] } });
    const inZone = (zone: string, more: object = {}): Node => buildNode('a', { labels: { zone }, ...more });
    const far = bound(buildPod('db', { uid: 'far', namespace: 'far', labels: { app: 'db' } }), 'a');
    const events = {
      'such a pod comes': added(there('db')),
      'such a pod goes': removed(there('db')),
      'a pod is relabelled': relabelled('db', 'web'),
      'another pod goes': removed(there('web')),
      'one without a node goes': removed(buildPod('db', { labels: { app: 'db' } })),
      'one of another namespace goes': removed(far),
      'a node with the label': nodeAdded(inZone('one')),
      'a node without it': nodeAdded(plain),
      'a node with it goes': nodeRemoved(inZone('one')),
      'a node changes its domain': nodeChanged(inZone('one'), inZone('two')),
      'a node leaves its domain': nodeChanged(inZone('one'), plain),
      'a node of a domain is tainted': nodeChanged(
        inZone('one'),
        inZone('one', { taints: [{ key: 'k', effect: 'NoSchedule' }] }),
      ),
      'a node of none is relabelled': nodeChanged(plain, buildNode('a', { labels: { other: 'x' } })),
    };
    assert.deepEqual(helpful('PodTopologySpread', pod, events), [
      ...['such a pod comes', 'such a pod goes', 'a pod is relabelled', 'a node with the label', 'a node with it goes'],
      ...['a node changes its domain', 'a node leaves its domain', 'a node of a domain is tainted'],
    ]);
    assert.deepEqual(helpful('PodTopologySpread', buildPod('y'), events), [], 'a pod without constraints');
  });

  it('SchedulingGates: the gates of the pod itself are removed', () => {
    const gated = (name: string, ...names: string[]): Pod =>
      buildPod(name, { uid: name, spec: { schedulingGates: names.map((gate) => ({ name: gate })) } });
    const events = {
      'the last gate goes': changed(gated('x', 'a'), gated('x')),
      'a gate goes': changed(gated('x', 'a', 'b'), gated('x', 'a')),
      'the gate of another pod goes': changed(gated('y', 'a'), gated('y')),
    };
    assert.deepEqual(helpful('SchedulingGates', gated('x', 'a'), events), ['the last gate goes']);
    assert.deepEqual(plugins.get('SchedulingGates')?.preEnqueue?.(gated('x', 'a', 'b'))?.reasons, [
      'waiting for scheduling gates: [a b]',
    ]);
    assert.equal(plugins.get('SchedulingGates')?.preEnqueue?.(gated('x')), undefined);
  });
});

describe('hints for a pod that other pods exclude', () => {
  it('affinity: a matching pod is added or labelled', () => {
    const pod = wanting('podAffinity', 'db');
    assert.deepEqual(
      [
        added(there('db')),
        added(there('web')),
        relabelled('web', 'db'),
        relabelled('web', 'api'),
        removed(there('web')),
      ].map((event) => helps('InterPodAffinity', pod, event)),
      [true, false, true, false, false],
    );
    // If no pod of the group is left, the next one may run on any node.
    assert.equal(helps('InterPodAffinity', wanting('podAffinity', 'x'), removed(there('x'))), true);
  });

  it('anti-affinity, of the pod or of others: those pods are deleted or relabelled', () => {
    const pod = wanting('podAntiAffinity', 'db');
    assert.deepEqual(
      [removed(there('db')), removed(there('web')), relabelled('db', 'web'), added(there('db'))].map((event) =>
        helps('InterPodAffinity', pod, event),
      ),
      [true, false, true, false],
    );
    const shy = bound(
      { ...wanting('podAntiAffinity', 'x'), metadata: { ...wanting('podAntiAffinity', 'x').metadata, uid: 'shy' } },
      'a',
    );
    assert.equal(helps('InterPodAffinity', buildPod('y', { labels: { app: 'x' } }), removed(shy)), true);
  });

  it('NodeResourcesFit: a pod on a node is deleted or requests less of the missing resource, or a node grows enough', () => {
    const pod = buildPod('x', { requests: { cpu: '2' } });
    const big = bound(buildPod('big', { requests: { cpu: '2', memory: '1Gi' } }), 'a');
    const less = (requests: Record<string, string>): ClusterEvent =>
      changed(big, { ...bound(buildPod('big', { requests }), 'a') });
    assert.deepEqual(
      [
        removed(big),
        removed({ ...big, spec: { ...big.spec, nodeName: '' } }),
        less({ cpu: '1', memory: '1Gi' }),
        less({ cpu: '2', memory: '1Mi' }),
      ].map((event) => helps('NodeResourcesFit', pod, event)),
      [true, false, true, false],
    );
    const grown = (cpu: string): ClusterEvent => ({
      resource: 'Node',
      actions: ['UpdateNodeAllocatable'],
      before: buildNode('a', { allocatable: { cpu: '1' } }),
      after: buildNode('a', { allocatable: { cpu } }),
    });
    assert.deepEqual(
      [grown('1500m'), grown('2')].map((event) => helps('NodeResourcesFit', pod, event)),
      [false, true],
    );
  });

  it('a node heartbeat and a cordon help no pod', () => {
    const node = buildNode('a', {
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }] },
    });
    const beat = buildNode('a', {
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:10Z' }] },
    });
    const cordoned = { ...node, spec: { ...node.spec, unschedulable: true } };
    assert.deepEqual(
      [nodeActions(node, beat), nodeActions(node, cordoned), nodeActions(cordoned, node)],
      [[], [], ['UpdateNodeTaint']],
    );
  });
});
