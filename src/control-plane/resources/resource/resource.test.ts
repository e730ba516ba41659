import assert from 'node:assert/strict';
import test from 'node:test';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const apiVersion = 'resource.k8s.io/v1';
const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] };
const claims = new RulesFixture<ResourceClaim>(apiVersion, 'ResourceClaim', { spec: { devices } });
const templates = new RulesFixture<ResourceClaimTemplate>(apiVersion, 'ResourceClaimTemplate', {
  spec: { spec: { devices } },
});
const classes = new RulesFixture<DeviceClass>(apiVersion, 'DeviceClass', { spec: {} });
const slices = new RulesFixture<ResourceSlice>(apiVersion, 'ResourceSlice', {
  spec: {
    driver: 'gpu.example.com',
    pool: { name: 'n/1', generation: 1, resourceSliceCount: 1 },
    nodeName: 'n',
    devices: [{ name: 'gpu-0', attributes: { model: { string: 'a' } }, capacity: { memory: { value: '1Gi' } } }],
  },
});

test('valid objects are accepted, and may be written again as they are', () => {
  for (const fixture of [claims, templates, classes, slices])
    assert.deepEqual([fixture.refusals(), fixture.updateRefusals({})], [[], []], fixture.definition.type.kind);
});

test('a request is for one device unless it says otherwise', () => {
  const { exactly } = claims.defaulted().spec.devices.requests?.[0] ?? {};
  assert.deepEqual(exactly, { deviceClassName: 'gpu.example.com', allocationMode: 'ExactCount', count: 1 });
  const all = { 'spec.devices.requests[0].exactly.allocationMode': 'All' };
  assert.equal(claims.defaulted(all).spec.devices.requests?.[0]?.exactly?.count, undefined);
  const tolerations = { 'spec.devices.requests[0].exactly.tolerations': [{ key: 'a', value: 'b' }] };
  assert.deepEqual(claims.defaulted(tolerations).spec.devices.requests?.[0]?.exactly?.tolerations, [
    { key: 'a', operator: 'Equal', value: 'b' },
  ]);
});

test('requests are refused in the words of upstream', () => {
  const at = 'spec.devices.requests[0]';
  const rows: readonly (readonly [Record<string, unknown>, readonly string[]])[] = [
    [
      { [`${at}.exactly`]: undefined },
      [`${at}: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`],
    ],
    [
      { [`${at}.firstAvailable`]: [{ name: 'a', deviceClassName: 'b' }] },
      [
        `${at}: Invalid value: null: exactly one of \`exactly\` or \`firstAvailable\` is required, but multiple fields are set`,
      ],
    ],
    [{ [`${at}.exactly.deviceClassName`]: '' }, [`${at}.exactly.deviceClassName: Required value`]],
    [{ [`${at}.exactly.count`]: -1 }, [`${at}.exactly.count: Invalid value: -1: must be greater than zero`]],
    [
      { [`${at}.exactly.allocationMode`]: 'All', [`${at}.exactly.count`]: 2 },
      [`${at}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'`],
    ],
    [
      { [`${at}.exactly.allocationMode`]: 'Some' },
      [`${at}.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"`],
    ],
    [{ 'spec.devices.requests[1]': devices.requests[0] }, ['spec.devices.requests[1]: Duplicate value: "gpu"']],
    [
      { 'spec.devices.constraints': [{ requests: ['cpu'], matchAttribute: 'x' }] },
      [
        'spec.devices.constraints[0].requests[0]: Invalid value: "cpu": must be the name of a request in the claim or the name of a request and a subrequest separated by \'/\'',
        'spec.devices.constraints[0].matchAttribute: Invalid value: "x": a fully qualified name must be a domain and a name separated by a slash',
      ],
    ],
    [
      { 'spec.devices.config': [{ opaque: { driver: 'd', parameters: 1 } }] },
      ['spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'],
    ],
    [
      { [`${at}.exactly.selectors`]: [{ cel: { expression: 'x'.repeat(10_241) } }, {}] },
      [
        `${at}.exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes`,
        `${at}.exactly.selectors[1].cel: Required value`,
      ],
    ],
  ];
  for (const [changes, refusals] of rows) assert.deepEqual(claims.refusals(changes), refusals);
  const [refusal = ''] = claims.updateRefusals({ 'spec.devices.requests[0].name': 'other' });
  assert.match(refusal, /^spec: Invalid value: .*: field is immutable$/);
});

const result = { request: 'gpu', driver: 'gpu.example.com', pool: 'n', device: 'gpu-0' };
const allocation = { devices: { results: [result] } };
const user = { resource: 'pods', name: 'web', uid: 'u' };

test('a status is allocated once, is reserved only while allocated, and reports only on its devices', () => {
  assert.deepEqual(claims.statusRefusals({ allocation, reservedFor: [user] }), []);
  assert.deepEqual(claims.statusRefusals({ reservedFor: [user] }), [
    'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
  ]);
  assert.match(
    claims.statusRefusals({ allocation: { devices: {} } }, { allocation })[0] ?? '',
    /^status\.allocation: Invalid value: .*: field is immutable$/,
  );
  assert.deepEqual(
    claims.statusRefusals(
      { allocation, reservedFor: [user] },
      { allocation },
      {
        'metadata.deletionTimestamp': '2026-01-01T00:00:00Z',
      },
    ),
    [
      'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    ],
  );
  const report = { driver: 'gpu.example.com', pool: 'n', device: 'gpu-1', conditions: [] };
  assert.deepEqual(claims.statusRefusals({ allocation, devices: [report] }), [
    'status.devices[0]: Invalid value: "gpu.example.com/n/gpu-1": must be an allocated device in the claim',
  ]);
});

test('the device status is removed with the allocation', () => {
  const report = { driver: 'gpu.example.com', pool: 'n', device: 'gpu-0', conditions: [] };
  const old = { ...claims.created(), status: { allocation, devices: [report] } };
  const { rules } = claims.definition;
  const after = rules.prepareForStatusUpdate?.({ ...old, status: { devices: [report] } } as ResourceClaim, old, {
    user: { name: 'u', groups: [] },
    nowMs: 0,
  });
  assert.deepEqual((after as ResourceClaim | undefined)?.status, {});
});

test('a slice says where its devices are, once, and stays where it is', () => {
  const nodes = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  assert.deepEqual(slices.refusals({ 'spec.nodeName': undefined }), [`spec: Required value: ${nodes}`]);
  assert.deepEqual(slices.refusals({ 'spec.allNodes': true }), [
    `spec: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${nodes}, but multiple fields are set`,
  ]);
  assert.deepEqual(slices.updateRefusals({ 'spec.nodeName': 'm' }), [
    'spec.nodeName: Invalid value: "m": field is immutable',
  ]);
  assert.deepEqual(slices.refusals({ 'spec.pool.resourceSliceCount': 0, 'spec.devices[0].name': 'A' }).length, 2);
  assert.deepEqual(slices.refusals({ 'spec.devices[0].attributes.model': { version: '1.x' } }), [
    'spec.devices[0].attributes[model].version: Invalid value: "1.x": must be a string compatible with semver.org spec 2.0.0',
  ]);
  assert.deepEqual(slices.refusals({ 'spec.devices[0].attributes.model': { int: 1, bool: true } }), [
    'spec.devices[0].attributes[model]: Invalid value: {"int":1,"bool":true}: exactly one value must be specified',
  ]);
  assert.deepEqual(slices.warnings({ 'spec.driver': 'GPU.example.com' }), [
    'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters',
  ]);
});

test('policies of capacities fit the capacity', () => {
  const policy = (requestPolicy: object): string[] =>
    slices.refusals({
      'spec.devices[0].allowMultipleAllocations': true,
      'spec.devices[0].capacity.memory': { value: '10', requestPolicy },
    });
  const at = 'spec.devices[0].capacity[memory].requestPolicy';
  assert.deepEqual(policy({ default: '2', validRange: { min: '1', max: '10', step: '1' } }), []);
  assert.deepEqual(policy({ default: '2', validValues: ['1', '2'] }), []);
  assert.deepEqual(policy({ validValues: ['1'] }), [
    `${at}.default: Required value: required when validValues is defined`,
  ]);
  assert.deepEqual(policy({ default: '2', validValues: ['2', '1', '11'] }), [
    `${at}.validValues[1]: Invalid value: "1": values must be sorted in ascending order`,
    `${at}.validValues[2]: Invalid value: "11": option is larger than capacity value: 10`,
  ]);
  assert.deepEqual(policy({ default: '2', validRange: { min: '1', step: '3' } }), [
    `${at}.validRange.step: Invalid value: "2": value is not a multiple of a given step (3) from (1)`,
  ]);
});

test('taints remember since when they are there, and alpha fields are dropped', () => {
  const slice = slices.created({
    'spec.devices[0].taints': [{ key: 'broken', effect: 'NoSchedule' }],
    'spec.devices[0].attributes.model': { string: 'a', strings: ['b'] },
  });
  assert.deepEqual(slice.spec.devices?.[0]?.taints, [
    { key: 'broken', effect: 'NoSchedule', timeAdded: '2026-01-01T12:00:00Z' },
  ]);
  assert.deepEqual(slice.spec.devices?.[0]?.attributes, { model: { string: 'a' } });
});

test('tables show what kubectl users know', () => {
  assert.deepEqual(claims.cells(), { State: 'pending' });
  assert.deepEqual(claims.cells({ status: { allocation: {} } }), { State: 'allocated' });
  const reserved = {
    status: { allocation: {}, reservedFor: [user] },
    'metadata.deletionTimestamp': '2026-01-01T00:00:00Z',
  };
  assert.deepEqual(claims.cells(reserved), { State: 'deleted,allocated,reserved' });
  assert.deepEqual(slices.cells(), { Node: 'n', Driver: 'gpu.example.com', Pool: 'n/1' });
  assert.deepEqual(slices.definition.selectableFields?.(slices.given()), {
    'spec.nodeName': 'n',
    'spec.driver': 'gpu.example.com',
  });
});
