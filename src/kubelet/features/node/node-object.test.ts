import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { declaredFeatures } from './declared-features.ts';
import type { NodeFactsForObject } from './node-object.ts';
import { buildNode, mergeSeenNode } from './node-object.ts';

const facts: NodeFactsForObject = {
  name: 'n1',
  hostname: 'n1',
  architecture: 'amd64',
  labels: {},
  taints: [],
  externalCloudProvider: false,
  providerId: '',
  controllerAttaches: true,
  addresses: ['10.0.0.1', 'fd00::1'],
  capacity: { cpu: '4' },
  allocatable: { cpu: '3' },
  declaredFeatures: ['A'],
  runtime: {
    handlers: [{ name: 'runc', recursiveReadOnlyMounts: true, userNamespaces: false }],
    supplementalGroupsPolicy: true,
  },
};

describe('the node as an object', () => {
  it('the node object has the standard labels, its addresses in order, and the features of the runtime', () => {
    assert.deepEqual(buildNode(facts), {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: 'n1',
        namespace: '',
        uid: '',
        labels: {
          'kubernetes.io/hostname': 'n1',
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': 'amd64',
          'beta.kubernetes.io/os': 'linux',
          'beta.kubernetes.io/arch': 'amd64',
        },
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      },
      spec: {},
      status: {
        capacity: { cpu: '4' },
        allocatable: { cpu: '3' },
        addresses: [
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'InternalIP', address: 'fd00::1' },
          { type: 'Hostname', address: 'n1' },
        ],
        declaredFeatures: ['A'],
        features: { supplementalGroupsPolicy: true },
        runtimeHandlers: [{ name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: false } }],
      },
    });
  });

  it('prefers the labels of the flag over its own, and has the taints for registration', () => {
    const node = buildNode({
      ...facts,
      labels: { 'kubernetes.io/hostname': 'other', zone: 'a' },
      taints: [{ key: 'gpu', effect: 'NoExecute' }],
      externalCloudProvider: true,
      providerId: 'x://1',
    });
    assert.deepEqual(
      [node.metadata.labels?.['kubernetes.io/hostname'], node.metadata.labels?.['zone'], node.spec?.providerID],
      ['other', 'a', 'x://1'],
    );
    assert.deepEqual(node.spec?.taints, [
      { key: 'gpu', effect: 'NoExecute' },
      { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
    ]);
  });

  it("the node object has the changes that others made in the API, with the machine's own facts", () => {
    const local = buildNode(facts);
    assert.equal(mergeSeenNode(undefined, local), local);
    const seen = mergeSeenNode(
      {
        metadata: { name: 'n1', namespace: '', uid: 'u', labels: { zone: 'b' } },
        spec: { unschedulable: true },
        status: { allocatable: { cpu: '1', 'x.io/gpu': '2' }, addresses: [{ type: 'ExternalIP', address: '1.2.3.4' }] },
      },
      local,
    );
    assert.deepEqual(
      [seen.metadata.labels, seen.spec, seen.status?.addresses],
      [{ zone: 'b' }, { unschedulable: true }, [{ type: 'ExternalIP', address: '1.2.3.4' }]],
    );
    assert.deepEqual([seen.status?.allocatable, seen.status?.declaredFeatures], [{ cpu: '3', 'x.io/gpu': '2' }, ['A']]);
  });
  it('declares the features whose gates are on, and none without the gate for declaring', () => {
    assert.deepEqual(declaredFeatures({ enabled: (name) => name !== 'ExtendWebSocketsToKubelet' }), [
      'InPlacePodLevelResourcesVerticalScaling',
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
    ]);
    assert.deepEqual(declaredFeatures({ enabled: (name) => name !== 'NodeDeclaredFeatures' }), []);
  });
});
