import assert from 'node:assert/strict';
import test from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const nodes = new RulesFixture<Node>('v1', 'Node', {});

test('a node is accepted with its status, and what it does not say of it follows', () => {
  assert.deepEqual(nodes.refusals(), []);
  const { spec, status } = nodes.created({
    'spec.podCIDR': '10.0.0.0/24',
    'status.capacity': { cpu: '2' },
    'spec.configSource': { configMap: { name: 'a', namespace: 'b', kubeletConfigKey: 'c' } },
  });
  assert.deepEqual(
    [spec, status],
    [
      { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] },
      { capacity: { cpu: '2' }, allocatable: { cpu: '2' } },
    ],
  );
  const ranges = ['10.0.0.0/24', 'fd00::/64'];
  assert.deepEqual(nodes.created({ 'spec.podCIDRs': ranges }).spec, { podCIDR: '10.0.0.0/24', podCIDRs: ranges });
  // As of a writer that knows of one range only.
  assert.deepEqual(nodes.created({ 'spec.podCIDR': 'fd00::/64', 'spec.podCIDRs': ranges }).spec, {
    podCIDR: 'fd00::/64',
    podCIDRs: ['fd00::/64'],
  });
  assert.equal(nodes.definition.createsWithStatus, true);
  assert.deepEqual(nodes.warnings({ 'spec.externalID': 'x' }), [
    'spec.externalID: this field is deprecated, and is unused by Kubernetes',
  ]);
});

test('taints, ranges and amounts are checked in the words of the API', () => {
  const cases: readonly [Changes, string[]][] = [
    [
      {
        'spec.taints': [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoExecute' },
        ],
      },
      [],
    ],
    [
      {
        'spec.taints': [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoSchedule', value: 'v' },
        ],
      },
      [
        'metadata.taints[1]: Duplicate value: {"key":"a","effect":"NoSchedule","value":"v"}: taints must be unique by key and effect pair',
      ],
    ],
    [{ 'spec.taints': [{ key: 'a' }] }, ['metadata.taints[0].effect: Required value']],
    [
      { 'spec.taints': [{ key: 'a', effect: 'Never' }] },
      [
        'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      { 'spec.podCIDRs': ['10.0.0.0/24', '10.0.1.0/24'] },
      [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family',
      ],
    ],
    [{ 'spec.podCIDRs': ['10.0.0.0/24', 'fd00::/64'] }, []],
    [
      { 'status.capacity': { cpu: '-1', pods: '1500m' } },
      [
        'cpu: Invalid value: "-1": must be greater than or equal to 0',
        'pods: Invalid value: "1500m": must be an integer',
      ]
        .flatMap((text) => `status.capacity.${text}`)
        .concat([
          'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
          'status.allocatable.pods: Invalid value: "1500m": must be an integer',
        ]),
    ],
  ];
  for (const [changes, expected] of cases) assert.deepEqual(nodes.refusals(changes), expected);
});

test('identity fields of a node are immutable, other fields may change', () => {
  const cases: readonly [changes: Changes, before: Changes, expected: string[]][] = [
    [{ 'spec.unschedulable': true, 'spec.taints': [{ key: 'a', effect: 'NoExecute' }] }, {}, []],
    [{ 'spec.podCIDRs': ['10.0.0.0/24'] }, {}, []],
    [
      { 'spec.podCIDR': '10.0.1.0/24' },
      { 'spec.podCIDR': '10.0.0.0/24' },
      ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
    ],
    [
      { 'spec.providerID': 'b' },
      { 'spec.providerID': 'a' },
      ['spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'],
    ],
    [{ 'spec.externalID': 'b' }, {}, ['spec.externalID: Forbidden: may not be updated']],
  ];
  for (const [changes, before, expected] of cases) assert.deepEqual(nodes.updateRefusals(changes, before), expected);
  const address = { type: 'InternalIP', address: '10.0.0.1' };
  assert.deepEqual(nodes.statusRefusals({ addresses: [address, address] }), [
    'status.addresses[1]: Duplicate value: {"type":"InternalIP","address":"10.0.0.1"}',
  ]);
});

test('a node is shown with its state, roles and what runs on it', () => {
  assert.deepEqual(Object.values(nodes.cells()), [
    'Unknown',
    '<none>',
    '60m',
    '',
    '<none>',
    '<none>',
    '<unknown>',
    '<unknown>',
    '<unknown>',
  ]);
  const info = {
    machineID: '',
    systemUUID: '',
    bootID: '',
    kernelVersion: '6.1',
    osImage: 'Debian 12',
    containerRuntimeVersion: 'containerd://2.1',
    kubeletVersion: 'v1.36.0',
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
  const row = nodes.cells({
    'metadata.labels': {
      'node-role.kubernetes.io/worker': '',
      'node-role.kubernetes.io/control-plane': '',
      'kubernetes.io/role': 'worker',
    },
    'spec.unschedulable': true,
    status: {
      conditions: [{ type: 'Ready', status: 'False' }],
      addresses: [
        { type: 'Hostname', address: 'n' },
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address: '1.2.3.4' },
      ],
      nodeInfo: info,
    },
  });
  assert.deepEqual(row, {
    Status: 'NotReady,SchedulingDisabled',
    Roles: 'control-plane,worker',
    Age: '60m',
    Version: 'v1.36.0',
    'Internal-IP': '10.0.0.1',
    'External-IP': '1.2.3.4',
    'OS-Image': 'Debian 12',
    'Kernel-Version': '6.1 (amd64)',
    'Container-Runtime': 'containerd://2.1',
  });
  assert.deepEqual(nodes.definition.selectableFields?.(nodes.created({ 'spec.unschedulable': true })), {
    'spec.unschedulable': 'true',
  });
});
