import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import { bound, buildNode, buildPod, cacheOf } from '../testing/builders.ts';
import { createPodTopologySpread } from './pod-topology-spread.ts';
import { filterAll, scoreAll } from '../testing/run-plugin.ts';

const zone = (name: string, value: string): Node => buildNode(name, { labels: { zone: value } });

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
  it('limits the skew between domains, and rejects nodes that are in no domain', () => {
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
  it('does not count terminating pods, other namespaces or other labels', () => {
    const there = [
      on('a', 'p', { namespace: 'other' }),
      on('a', 'q', { labels: { app: 'db' } }),
      on('a', 'r', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    ];
    assert.deepEqual(filterAll(spread, pod(constraint), { nodes, there }).slice(0, 2), ['', '']);
  });
  it('counts missing domains as empty if minDomains requires more domains', () => {
    const there = [on('a', 'p'), on('b', 'q')];
    assert.deepEqual(filterAll(spread, pod({ ...constraint, minDomains: 3 }), { nodes, there }).slice(0, 2), [no, no]);
  });
  it('adds the pod’s own values of matchLabelKeys to the selector', () => {
    const versioned = {
      ...pod({ ...constraint, matchLabelKeys: ['v'] }),
      metadata: { ...pod().metadata, labels: { ...labels, v: '2' } },
    };
    const there = [on('a', 'p', { labels: { ...labels, v: '1' } })];
    assert.deepEqual(filterAll(spread, versioned, { nodes, there }).slice(0, 2), ['', '']);
  });
  it('ignores nodes that the pod’s node affinity excludes, and tainted nodes only if nodeTaintsPolicy is Honor', () => {
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
  it('filters only by DoNotSchedule constraints', () => {
    const soft = { ...constraint, topologyKey: 'rack', whenUnsatisfiable: 'ScheduleAnyway' };
    const there = [on('a', 'p'), on('a', 'q')];
    assert.equal(filterAll(spread, pod(soft), { nodes, there }), 'skip');
    assert.deepEqual(filterAll(spread, pod(soft, constraint), { nodes, there }).slice(0, 2), [no, '']);
  });
  it('counts only nodes that have the topology keys of all constraints', () => {
    const rack = { ...constraint, topologyKey: 'rack', maxSkew: 9 };
    const inBoth = ['a', 'b'].map((name) => buildNode(name, { labels: { zone: name, rack: 'r' } }));
    // Zone c has no rack label, so it does not count as a domain for the pod with both constraints.
    const setting = { nodes: [...inBoth, zone('c', 'c')], there: [on('a', 'p'), on('b', 'q')] };
    assert.deepEqual(filterAll(spread, pod(constraint), setting), [no, no, '']);
    assert.deepEqual(filterAll(spread, pod(constraint, rack), setting).slice(0, 2), ['', '']);
  });
  it('applies the profile’s default constraints to a Service’s pods without own constraints', () => {
    const defaultConstraints = [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' as const },
      { maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'ScheduleAnyway' as const },
    ];
    const ofProfile = createPodTopologySpread({ defaultingType: 'List', defaultConstraints });
    const service = { metadata: { name: 's', namespace: 'default', uid: 's' }, spec: { selector: labels } };
    const setting = { nodes, there: [on('a', 'p')] };
    assert.equal(filterAll(ofProfile, pod(), setting), 'skip', 'no service selects it');
    assert.deepEqual(filterAll(ofProfile, pod(), { ...setting, services: [service] }).slice(0, 2), [no, '']);
    const mayHelp = ofProfile.hints?.Pod?.[0]?.mayHelp;
    assert.equal(mayHelp?.(pod(), { resource: 'Pod', actions: ['Delete'], before: on('a', 'p') }), true);
    assert.equal(
      createPodTopologySpread({ defaultingType: 'List' }).hints?.Node?.[0]?.mayHelp?.(pod(), {
        resource: 'Node',
        actions: ['Add'],
        after: zone('d', 'three'),
      }),
      false,
    );
  });
  it('counts pods that preemption adds or removes in a dry run', () => {
    const cache = cacheOf({ nodes, pods: [on('a', 'p'), on('a', 'q'), on('b', 'r')] });
    const [a, b, c] = nodes.map(({ metadata }) => cache.node(metadata.name) ?? assert.fail());
    const result = spread.preFilter?.(podInfoOf(pod(constraint)), cache);
    if (result?.kind !== 'check' || a === undefined || b === undefined || c === undefined) assert.fail();
    const { check } = result;
    const fits = (one = check): boolean[] => [a, b].map((node) => one.filter(node) === undefined);
    const others = check.others ?? assert.fail();
    assert.deepEqual(fits(), [false, true]);
    const tried = others.clone();
    const info = podInfoOf(on('a', 'q'));
    tried.others?.removed(info, a);
    assert.deepEqual(
      [fits(tried), fits()],
      [
        [true, true],
        [false, true],
      ],
      'a trial changes nothing else',
    );
    tried.others?.removed(podInfoOf(on('a', 'p')), a);
    assert.deepEqual(fits(tried), [true, false]);
    tried.others?.added(info, a);
    tried.others?.added(info, a);
    assert.deepEqual(fits(tried), [false, true]);
    for (const [other, node] of [
      [on('b', 'far', { namespace: 'other' }), b],
      [on('b', 'db', { labels: { app: 'db' } }), b],
      [on('c', 'off'), c],
    ] as const)
      for (let count = 0; count < 3; count++) others.added(podInfoOf(other), node);
    assert.deepEqual(fits(), [false, true], 'pods that do not count');
  });
  it('prefers domains with fewer pods for ScheduleAnyway constraints', () => {
    assert.deepEqual(
      scoreAll(spread, pod({ ...constraint, whenUnsatisfiable: 'ScheduleAnyway' }), {
        nodes,
        there: [on('a', 'p'), on('a', 'q'), on('b', 'r')],
      }),
      [33, 100, 0],
    );
  });
  it('spreads the pods of a Service over nodes by default', () => {
    const service = { metadata: { name: 's', namespace: 'default', uid: 's' }, spec: { selector: labels } };
    const setting = { nodes, there: [on('a', 'p'), on('a', 'q'), on('b', 'r')] };
    assert.equal(scoreAll(spread, pod(), setting), undefined);
    const [first = 0, second = 0, third = 0] = scoreAll(spread, pod(), { ...setting, services: [service] }) ?? [];
    assert.ok(first < second && second < third && third === 100);
  });
});
