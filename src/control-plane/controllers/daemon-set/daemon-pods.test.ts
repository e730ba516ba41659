import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Taint } from '../../../api/core/node.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { buildDaemonPod, isUpdated, NodeEligibility, oldestFirst, targetNode } from './daemon-pods.ts';
import { buildDaemon, buildDaemonSet } from './testing/daemon-facts.ts';

const specOf = (changes: Record<string, unknown>): PodSpec => buildPod(changes, { defaulted: false }).spec;
const withSpec = (changes: Record<string, unknown>): ReturnType<typeof buildDaemonSet> =>
  buildDaemonSet({ template: { metadata: { labels: { app: 'agent' } }, spec: specOf(changes) } });
const made = (changes: Record<string, unknown>): Pod => buildDaemonPod(withSpec(changes), 'h1', 'n1');

describe('whether a daemon starts on a node, and whether it stays there', () => {
  const eligibility = (changes: Record<string, unknown>, taints: Taint[] = [], labels = {}): string => {
    const template = { metadata: {}, spec: specOf(changes) };
    const { starts, stays } = new NodeEligibility(template).of({
      metadata: { name: 'n1', namespace: '', uid: 'n1', labels },
      spec: { taints },
    });
    return `${starts ? 'starts' : '-'} ${stays ? 'stays' : '-'}`;
  };
  const taint = (key: string, effect: Taint['effect'] = 'NoSchedule'): Taint[] => [{ key, effect }];

  it('depends on the node selector and the node name', () => {
    assert.equal(eligibility({}), 'starts stays');
    assert.equal(eligibility({ 'spec.nodeSelector': { disk: 'ssd' } }), '- -');
    assert.equal(eligibility({ 'spec.nodeSelector': { disk: 'ssd' } }, [], { disk: 'ssd' }), 'starts stays');
    assert.equal(eligibility({ 'spec.nodeName': 'n1' }), 'starts stays');
    assert.equal(eligibility({ 'spec.nodeName': 'n2' }), '- -');
    assert.equal(eligibility({ 'spec.nodeName': '' }), 'starts stays');
  });

  it('depends on taints; NoSchedule taints let an existing pod stay', () => {
    assert.equal(eligibility({}, taint('own')), '- stays');
    assert.equal(eligibility({}, taint('own', 'NoExecute')), '- -');
    assert.equal(eligibility({}, taint('own', 'PreferNoSchedule')), 'starts stays');
    const tolerations = [{ key: 'own', operator: 'Exists', effect: 'NoSchedule' }];
    assert.equal(eligibility({ 'spec.tolerations': tolerations }, taint('own')), 'starts stays');
  });

  // Upstream documents these tolerations in Workloads, DaemonSet, "Taints and tolerations".
  for (const [key, effect] of [
    ['node.kubernetes.io/not-ready', 'NoExecute'],
    ['node.kubernetes.io/unreachable', 'NoExecute'],
    ['node.kubernetes.io/disk-pressure', 'NoSchedule'],
    ['node.kubernetes.io/memory-pressure', 'NoSchedule'],
    ['node.kubernetes.io/pid-pressure', 'NoSchedule'],
    ['node.kubernetes.io/unschedulable', 'NoSchedule'],
  ] as const)
    it(`ignores ${key}:${effect}`, () => assert.equal(eligibility({}, taint(key, effect)), 'starts stays'));

  it('ignores a missing network if the pod uses the host network', () => {
    const noNetwork = taint('node.kubernetes.io/network-unavailable');
    assert.equal(eligibility({}, noNetwork), '- stays');
    assert.equal(eligibility({ 'spec.hostNetwork': true }, noNetwork), 'starts stays');
  });
});

describe('the pod for a node', () => {
  it("is bound to the node by a node affinity; of the template's affinity only the preferences are kept", () => {
    const preferred = [{ weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } }];
    const { spec } = made({
      'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution': preferred,
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }],
      },
      'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution': [{ topologyKey: 'zone' }],
    });
    assert.deepEqual(spec.affinity, {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
        },
      },
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] },
    });
    assert.equal(targetNode(made({})), 'n1');
  });

  it('has its own tolerations and those of the template, without duplicates', () => {
    const key = 'node.kubernetes.io/not-ready';
    const tolerations = (...given: Toleration[]): Toleration[] =>
      (made({ 'spec.tolerations': given }).spec.tolerations ?? []).filter((each) => each.key === key);
    const own: Toleration = { key, operator: 'Exists', effect: 'NoExecute' };
    assert.deepEqual(tolerations(), [own]);
    assert.deepEqual(tolerations({ ...own, tolerationSeconds: 300n }), [own]);
    for (const other of [
      { ...own, operator: 'Equal', value: 'x' },
      { ...own, effect: 'NoSchedule' },
      { ...own, operator: 'Equal' },
      { ...own, value: 'x' },
    ] as Toleration[])
      assert.deepEqual(tolerations(other), [other, own]);
    assert.deepEqual(
      made({ 'spec.tolerations': [{ key: 'own', operator: 'Exists', effect: 'NoExecute' }] }).spec.tolerations?.length,
      7,
    );
  });

  it('has the hash label of its template, and the generation label if there is one', () => {
    const labels = (generation?: string): unknown => {
      const annotations = { 'deprecated.daemonset.template.generation': generation };
      const set = buildDaemonSet({}, generation === undefined ? {} : { annotations });
      return buildDaemonPod(set, 'h1', 'n1').metadata.labels;
    };
    assert.deepEqual(labels(), { app: 'agent', 'controller-revision-hash': 'h1' });
    assert.deepEqual(labels('17'), { app: 'agent', 'controller-revision-hash': 'h1', 'pod-template-generation': '17' });
    for (const text of ['x1', '1x', '', '-1'])
      assert.deepEqual(labels(text), { app: 'agent', 'controller-revision-hash': 'h1' }, text);
  });
});

describe('the node of a daemon', () => {
  const required = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution';
  const of = (...matchFields: object[]): string | undefined =>
    targetNode(buildPod({ [required]: { nodeSelectorTerms: [{ matchFields }] } }));
  const field = { key: 'metadata.name', operator: 'In', values: ['n1'] };

  it('is the node on which it runs, or the node that its affinity names', () => {
    assert.equal(targetNode(buildPod({ 'spec.nodeName': 'n2' })), 'n2');
    assert.equal(of(field), 'n1');
    assert.equal(of({ ...field, key: 'metadata.uid' }, field), 'n1');
  });

  it('is unknown if the affinity names no node, or several', () => {
    assert.equal(targetNode(buildPod()), undefined);
    assert.equal(targetNode(buildPod({ 'spec.affinity': {} })), undefined);
    assert.equal(targetNode(buildPod({ 'spec.affinity.nodeAffinity': {} })), undefined);
    assert.equal(targetNode(buildPod({ [required]: { nodeSelectorTerms: [{}] } })), undefined);
    assert.equal(of({ ...field, values: ['n1', 'n2'] }), undefined);
    assert.equal(of({ ...field, operator: 'NotIn' }), undefined);
    assert.equal(of({ ...field, key: 'metadata.uid' }), undefined);
    assert.equal(of({ key: 'metadata.name', operator: 'In' }), undefined);
  });
});

it('a daemon pod is up to date by its hash label, or by its generation label', () => {
  const pod = (labels: Record<string, string>): Pod => buildPod({ 'metadata.labels': labels });
  const set = buildDaemonSet({}, { annotations: { 'deprecated.daemonset.template.generation': '4' } });
  assert.equal(isUpdated(buildDaemonSet(), pod({ 'controller-revision-hash': 'h1' }), 'h1'), true);
  assert.equal(isUpdated(buildDaemonSet(), pod({ 'controller-revision-hash': 'h2' }), 'h1'), false);
  assert.equal(isUpdated(buildDaemonSet(), buildPod(), 'h1'), false);
  assert.equal(isUpdated(set, pod({ 'pod-template-generation': '4' }), 'h1'), true);
  assert.equal(isUpdated(set, pod({ 'pod-template-generation': '3' }), 'h1'), false);
  assert.equal(isUpdated(set, buildPod(), 'h1'), false);
});

it('daemon pods are sorted by node, then by age, then by name', () => {
  const at = (second: number): Record<string, unknown> => ({
    'metadata.creationTimestamp': `2026-01-01T00:00:0${second}Z`,
  });
  const pods = [
    buildDaemon('waits', 'n1', 'pending', at(0)),
    buildDaemon('b', 'n1', 'ready', at(2)),
    buildDaemon('c', 'n1', 'ready', at(1)),
    buildDaemon('a', 'n1', 'ready', at(2)),
    buildDaemon('undated', 'n1', 'ready'),
  ];
  const sorted = (given: readonly Pod[]): string =>
    oldestFirst(given)
      .map(({ metadata }) => metadata.name)
      .join(' ');
  assert.equal(sorted(pods), 'undated c a b waits');
  assert.equal(sorted(pods.toReversed()), 'undated c a b waits');
});
