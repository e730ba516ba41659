import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterEvent } from '../framework/cluster-event.ts';
import { mayHelp, nodeActions, podActions } from '../framework/cluster-event.ts';
import type { Pod } from '../../../api/core/pod.ts';
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

describe('which events wake a pod', () => {
  it('that wants to be near others: such a one comes, or is labelled so', () => {
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
    // The last of a group lets the first of it be anywhere again.
    assert.equal(helps('InterPodAffinity', wanting('podAffinity', 'x'), removed(there('x'))), true);
  });

  it('that wants to be far from others, or is kept away by them: they go, or are labelled otherwise', () => {
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

  it('that is short of room: a pod on a node goes or shrinks in what is wanted, a node grows enough', () => {
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

  it('a heartbeat wakes no pod, and a cordon helps none', () => {
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
