import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { bound, buildNode, buildPod } from '../testing/builders.ts';
import { createInterPodAffinity } from './inter-pod-affinity.ts';
import { filterAll, scoreAll } from '../testing/run-plugin.ts';

const zone = (name: string, value: string): Node => buildNode(name, { labels: { zone: value } });

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
  it('places a pod in the domain of the pods that its affinity selects', () => {
    assert.deepEqual(filterAll(plugin, pod('x', 'web', required('podAffinity', term('db'))), { nodes, there: [db] }), [
      '',
      near,
      near,
    ]);
  });
  it('lets the first pod of a group run in any domain, unless its affinity selects other pods', () => {
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
  it('keeps a pod away from the pods that its anti-affinity selects', () => {
    assert.deepEqual(
      filterAll(plugin, pod('x', 'web', required('podAntiAffinity', term('db'))), { nodes, there: [db] }),
      [far, '', ''],
    );
  });
  it('keeps a pod away from pods whose anti-affinity selects it', () => {
    const shy = bound(pod('shy', 'shy', required('podAntiAffinity', term('web'))), 'b');
    assert.deepEqual(filterAll(plugin, pod('x', 'web'), { nodes, there: [shy] }), ['', existing, '']);
    assert.equal(filterAll(plugin, pod('x', 'other'), { nodes, there: [shy] }), 'skip');
  });
  it('selects pods in the own namespace, in named namespaces, or in namespaces with matching labels', () => {
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
  it('scores the preferred terms of the pod and of existing pods', () => {
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
