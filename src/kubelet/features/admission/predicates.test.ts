import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { AdmissionCheck } from './admission-check.ts';
import { hasPortConflict } from './host-ports.ts';
import {
  checkDeclaredFeatures,
  checkOsField,
  checkOsLabel,
  checkSupplementalGroupsPolicy,
  missingForUpdate,
} from './predicates.ts';

const nodeOf = (status?: Node['status']): Node => ({
  metadata: { name: 'n1', namespace: '', uid: '' },
  ...(status === undefined ? {} : { status }),
});
const reasonOf = (check: AdmissionCheck, changes: Changes, node = nodeOf()): string | undefined =>
  check({ pod: buildPod(changes), node, others: [] })?.reason;

describe('the requirements of a pod', () => {
  it('are the operating system of label and field', () => {
    const label = (value: string): Changes => ({ 'metadata.labels': { 'kubernetes.io/os': value } });
    assert.deepEqual(
      [{}, label('linux'), label('windows')].map((changes) => reasonOf(checkOsLabel, changes)),
      [undefined, undefined, 'PodOSSelectorNodeLabelDoesNotMatch'],
    );
    const field = (name: string): Changes => ({ 'spec.os': { name } });
    assert.deepEqual(
      [{}, field('linux'), field('windows')].map((changes) => reasonOf(checkOsField, changes)),
      [undefined, undefined, 'PodOSNotSupported'],
    );
  });

  it('are strict supplemental groups, where a pod asks for them', () => {
    const strict = { 'spec.securityContext': { supplementalGroupsPolicy: 'Strict' } };
    const merge = { 'spec.securityContext': { supplementalGroupsPolicy: 'Merge' } };
    const able = nodeOf({ features: { supplementalGroupsPolicy: true } });
    assert.deepEqual(
      [reasonOf(checkSupplementalGroupsPolicy, strict), reasonOf(checkSupplementalGroupsPolicy, strict, nodeOf({}))],
      ['SupplementalGroupsPolicyNotSupported', 'SupplementalGroupsPolicyNotSupported'],
    );
    assert.equal(reasonOf(checkSupplementalGroupsPolicy, strict, able), undefined);
    for (const changes of [{}, merge]) assert.equal(reasonOf(checkSupplementalGroupsPolicy, changes), undefined);
  });

  it('are the declared features that the pod needs', () => {
    const rule = (action: string): Changes => ({
      'spec.containers[0].restartPolicy': 'Never',
      'spec.containers[0].restartPolicyRules': [{ action, exitCodes: { operator: 'In', values: [1] } }],
    });
    const messageOf = (changes: Changes, ...declaredFeatures: string[]): string | undefined =>
      checkDeclaredFeatures({ pod: buildPod(changes), node: nodeOf({ declaredFeatures }), others: [] })?.message;
    const all = 'RestartAllContainersOnContainerExits';
    const users = 'UserNamespacesHostNetworkSupport';
    const words = 'Pod requires node features that are not available: ';
    const hostUsers = { 'spec.hostNetwork': true, 'spec.hostUsers': false };
    assert.equal(messageOf(rule('RestartAllContainers')), words + all);
    assert.equal(messageOf(rule('RestartAllContainers'), all), undefined);
    assert.equal(messageOf(rule('Restart')), undefined);
    assert.equal(messageOf(hostUsers), words + users);
    assert.equal(messageOf({ ...rule('RestartAllContainers'), ...hostUsers }), `${words}${all}, ${users}`);
    assert.equal(messageOf({ ...rule('RestartAllContainers'), ...hostUsers }, users), words + all);
    for (const changes of [{ 'spec.hostNetwork': true }, { 'spec.hostUsers': false }])
      assert.equal(messageOf(changes), undefined);
    assert.notEqual(reasonOf(checkDeclaredFeatures, hostUsers), undefined, 'a node without a status declares nothing');
  });

  it('are more for an update: a node must support the resize of the update', () => {
    const init = (cpu: string, more: object = {}): Changes => ({
      'spec.initContainers': [{ name: 'i', image: 'x', resources: { requests: { cpu } }, ...more }],
    });
    const podLevel = (cpu: string): Changes => ({ 'spec.resources': { requests: { cpu } } });
    const missing = (before: Changes, after: Changes, node: Node = nodeOf({})): string[] =>
      missingForUpdate(buildPod(before), buildPod(after), node);
    const initFeature = 'InPlacePodVerticalScalingInitContainers';
    const podFeature = 'InPlacePodLevelResourcesVerticalScaling';
    assert.deepEqual(missing(init('1'), init('2')), [initFeature]);
    assert.deepEqual(missing(init('1'), init('1', { command: ['x'] })), []);
    const sidecar = { restartPolicy: 'Always' };
    assert.deepEqual(missing(init('1', sidecar), init('2', sidecar)), []);
    assert.deepEqual(missing(podLevel('1'), podLevel('2')), [podFeature]);
    assert.deepEqual(missing({ ...podLevel('1'), ...init('1') }, { ...podLevel('2'), ...init('2') }), [
      podFeature,
      initFeature,
    ]);
    assert.deepEqual(missing(podLevel('1'), podLevel('2'), nodeOf({ declaredFeatures: [podFeature] })), []);
    assert.deepEqual(missing({}, {}, nodeOf()), []);
    assert.deepEqual(missing(podLevel('1'), podLevel('2'), nodeOf()), [podFeature]);
  });
});

describe('ports of the host', () => {
  const podWith = (...ports: object[]): Pod =>
    buildPod({ 'spec.containers[0].ports': ports.map((port) => ({ containerPort: 80, ...port })) });
  const conflict = (one: Pod, other: Pod): boolean => hasPortConflict(one, [buildPod(), other]);

  it('conflict by number and protocol, on one address or on all', () => {
    const web = podWith({ hostPort: 80 });
    assert.equal(conflict(web, podWith({ hostPort: 80 })), true);
    assert.equal(conflict(web, podWith({ hostPort: 80, hostIP: '10.0.0.1' })), true);
    assert.equal(conflict(podWith({ hostPort: 80, hostIP: '10.0.0.1' }), web), true);
    const [one, other] = [podWith({ hostPort: 80, hostIP: '10.0.0.1' }), podWith({ hostPort: 80, hostIP: '10.0.0.2' })];
    assert.deepEqual([conflict(one, one), conflict(one, other)], [true, false]);
    assert.equal(conflict(web, podWith({ hostPort: 81 })), false);
    assert.equal(conflict(web, podWith({ hostPort: 80, protocol: 'UDP' })), false);
    assert.equal(conflict(web, podWith({ hostPort: 80, hostIP: '' })), true);
  });

  it('conflict if one of several conflicts, and never without a host port', () => {
    assert.equal(conflict(podWith({ hostPort: 80 }, { hostPort: 81 }), podWith({ hostPort: 81 })), true);
    assert.equal(conflict(podWith({}), podWith({})), false);
    assert.equal(conflict(podWith({ hostPort: 0 }), podWith({ hostPort: 0 })), false);
  });
});
