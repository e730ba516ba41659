import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { allResources } from '../src/control-plane/resources/all.ts';
import { missingKindsSentence, upstreamControllers } from './docs-control-plane.ts';
import { checkFalseWhen, checkMissingSections, featureState } from './docs-features.ts';
import type { FeatureState } from './docs-features.ts';
import { insteadOf, upstreamKinds } from './upstream-kinds.ts';

const root = path.join(import.meta.dirname, '..');
const messages = (findings: readonly { line: number; message: string }[]): string[] =>
  findings.map(({ line, message }) => `${line}: ${message}`);

test('a sentence is found when the feature that makes it false is there, and so is a mark that names none', () => {
  const states: Readonly<Record<string, FeatureState>> = { 'kind.A': 'absent', 'kind.B': 'present' };
  const text =
    'No A. <!-- false-when: kind.A -->\n\nNo A and no B. <!-- false-when: kind.A, kind.B -->\nNo C. <!-- false-when: kind.C -->';
  assert.deepEqual(messages(checkFalseWhen('README.md', text, (name) => states[name] ?? 'unknown')), [
    '3: the sentence before this mark is false now: there is kind.B',
    '4: false-when: there is no feature "kind.C" (scripts/docs-features.ts)',
  ]);
});

test('features are computed from what the programs are made of', () => {
  const states = [
    'kind.Pod',
    'kind.ComponentStatus',
    'kind.Custom',
    'group.apps',
    'group.internal.apiserver.k8s.io',
    'controller.job-controller',
    'controller.ttl-controller',
    'controller.x',
    'admission.LimitRanger',
    'admission.PodNodeSelector',
    'admission.X',
    'control-plane-flag.data-dir',
    'control-plane-flag.x',
    'metric.kubelet_running_pods',
    'metric.x',
    'agent.PodSpec.initContainers',
    'agent.--kubeconfig',
    'agent.evictionHard',
    'agent.x',
    'cluster.dns',
    'cluster.joins',
    'cluster.cloud-provider',
    'cluster.x',
    'x',
  ].map((name) => `${name} ${featureState(name, root)}`);
  assert.deepEqual(states, [
    'kind.Pod present',
    'kind.ComponentStatus absent',
    'kind.Custom unknown',
    'group.apps present',
    'group.internal.apiserver.k8s.io unknown',
    'controller.job-controller present',
    'controller.ttl-controller absent',
    'controller.x unknown',
    'admission.LimitRanger present',
    'admission.PodNodeSelector absent',
    'admission.X unknown',
    'control-plane-flag.data-dir present',
    'control-plane-flag.x absent',
    'metric.kubelet_running_pods present',
    'metric.x absent',
    'agent.PodSpec.initContainers present',
    'agent.--kubeconfig present',
    'agent.evictionHard present',
    'agent.x unknown',
    'cluster.dns present',
    'cluster.joins present',
    'cluster.cloud-provider absent',
    'cluster.x unknown',
    'x unknown',
  ]);
});

test('the sentences that were false are found by their features', () => {
  const before =
    'The agent of this project does not join it yet. <!-- false-when: cluster.joins -->\nNo kube-proxy. <!-- false-when: cluster.service-routing -->\nNo cluster DNS. <!-- false-when: cluster.dns -->\nNo metrics server. <!-- false-when: cluster.metrics-api -->';
  assert.equal(checkFalseWhen('docs/control-plane.md', before, (name) => featureState(name, root)).length, 4);
});

test('a section about what is missing names a feature with each paragraph that denies something', () => {
  const text =
    '## What is missing\n\nNo A.\n\nNo B. <!-- false-when: kind.B -->\n\n<!-- kinds:begin -->\nC is not there.\n<!-- kinds:end -->\n\nSee elsewhere.\n\n## Numbers\n\nNo D.\n';
  assert.deepEqual(messages(checkMissingSections('README.md', text)), [
    '3: says what there is not without naming the feature that would make it false: <!-- false-when: NAME -->',
  ]);
});

test('each kind of upstream is served or listed as missing, and each served kind exists upstream', () => {
  const sentence = missingKindsSentence();
  assert.match(sentence, /^The control plane serves all \d+ kinds that Kubernetes v1\.36 has in a stable version\.$/);
  const unknown = allResources.filter(
    ({ type }) =>
      !/alpha|beta/.test(type.version) &&
      upstreamKinds[type.group]?.includes(type.kind) !== true &&
      type.group !== 'metrics.k8s.io',
  );
  assert.deepEqual(
    unknown.map(({ type }) => type.kind),
    [],
  );
  const all = Object.values(upstreamKinds).flat();
  assert.deepEqual(
    Object.keys(insteadOf).filter((kind) => !all.includes(kind)),
    [],
  );
  assert.equal(new Set(upstreamControllers).size, upstreamControllers.length);
});
