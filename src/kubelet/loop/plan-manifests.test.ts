import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/core/pod.ts';
import { podFullName } from '../../api/pod.ts';
import { readManifest } from '../features/pod-config/manifest-reader.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import type { ManifestPlanParts } from './plan-manifests.ts';
import { planManifests } from './plan-manifests.ts';

const rules = { nodeName: 'node', standalone: true, validate: () => [] };
const manifest = (name: string, image = 'busybox:1'): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image }] },
  });

function harness(present: Pod[] = []) {
  const planned: { pod: Pod; status: PodRuntimeStatus }[] = [];
  const inRuntime = 4711;
  const parts: ManifestPlanParts = {
    store: { byFullName: (name) => present.find((pod) => podFullName(pod) === name) },
    cache: { getOrEmpty: (identity) => emptyPodRuntimeStatus(identity, inRuntime) },
    podRuntime: {
      plan: (pod, status) => {
        planned.push({ pod, status });
        return {
          steps: [{ kind: 'startContainer', name: 'main', role: 'regular', attempt: 0 }],
          waits: [{ container: 'side', untilMs: 1, waitMs: 1, delayMs: 1, why: 'CrashLoopBackOff' }],
        };
      },
    },
    rules,
    nowMs: 7,
  };
  const plan = (text: string) => planManifests(text, parts);
  return { plan, planned, inRuntime };
}

const [start, later] = ['Start container main.', 'later: start container side, because CrashLoopBackOff'];
const podOf = (text: string): Pod => {
  const [pod] = readManifest(text, { kind: 'file', path: 'other' }, rules).pods;
  assert.ok(pod !== undefined);
  return pod;
};

describe('the plan for manifests', () => {
  it('starts new pods as on an empty node', () => {
    const { plan, planned } = harness();
    assert.deepEqual(
      plan(`${manifest('a')}\n---\n${manifest('b')}`).map(({ pod, problems }) => [pod, problems]),
      [
        ['default/a-node', []],
        ['default/b-node', []],
      ],
    );
    assert.deepEqual(
      planned.map(({ status }) => [status.name, status.containers, status.observedAtMs]),
      [
        ['a-node', [], 7],
        ['b-node', [], 7],
      ],
    );
  });

  it('continues a pod with the same manifest from its running containers', () => {
    const present = podOf(manifest('a'));
    const { plan, planned, inRuntime } = harness([present]);
    const [{ steps } = { steps: [] }] = plan(manifest('a'));
    assert.deepEqual([steps, planned[0]?.pod], [[start, later], present]);
    assert.equal(planned[0]?.status.observedAtMs, inRuntime);
  });

  it('stops a pod of the same name whose manifest differs, and then starts the new one', () => {
    const { plan, planned } = harness([podOf(manifest('a', 'busybox:0'))]);
    const [{ steps } = { steps: [] }] = plan(manifest('a'));
    assert.deepEqual(steps, ['stop the pod that runs under this name now (its manifest differs)', start, later]);
    assert.deepEqual([planned[0]?.pod.spec.containers[0]?.image, planned[0]?.status.observedAtMs], ['busybox:1', 7]);
  });

  it('reports the problems of the text first, and plans the other pods', () => {
    const { plan } = harness();
    const plans = plan(`${manifest('a')}\n---\n{"apiVersion": "v1", "kind": "Pod", "metadata": {}}`);
    assert.deepEqual([plans[0]?.pod, plans[0]?.steps, plans.at(-1)?.pod], ['manifest', [], 'default/a-node']);
    assert.ok((plans[0]?.problems.length ?? 0) > 0);
    assert.match(plans[0]?.problems[0] ?? '', /^manifest/);
  });
});
