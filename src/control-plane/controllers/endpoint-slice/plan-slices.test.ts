import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoint, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import type { AddressType, Group } from './plan-slices.ts';
import { MAX_ENDPOINTS, planSlices } from './plan-slices.ts';

const PORTS = [{ name: 'http', port: 80 }];
const endpoint = (name: string, ready = true): Endpoint =>
  ({ addresses: [`10.0.0.${name}`], conditions: { ready }, targetRef: { kind: 'Pod', uid: name } }) as Endpoint;
const endpoints = (from: number, count: number): Endpoint[] =>
  Array.from({ length: count }, (_, index) => endpoint(String(from + index)));
const slice = (name: string, content: readonly Endpoint[], more: object = {}): EndpointSlice =>
  ({
    metadata: { name, namespace: 'default', uid: name },
    addressType: 'IPv4',
    ports: PORTS,
    endpoints: content,
    ...more,
  }) as unknown as EndpointSlice;
const group = (content: readonly Endpoint[], addressType: AddressType = 'IPv4', ports = PORTS): Group => ({
  addressType,
  ports,
  endpoints: content,
});

function plan(existing: readonly EndpointSlice[], ...groups: Group[]) {
  const planned = planSlices(existing, groups);
  return {
    create: planned.create.map((each) => `${each.addressType} ${each.endpoints.length}`),
    update: planned.update.map((each) => `${each.slice.metadata.name} ${each.endpoints.length}`),
    delete: planned.delete.map(({ metadata }) => metadata.name),
  };
}
const nothing = { create: [], update: [], delete: [] };

describe('endpoint slices', () => {
  it('are not written if they are correct', () => {
    assert.deepEqual(plan([slice('a', endpoints(0, 3))], group(endpoints(0, 3))), nothing);
    assert.deepEqual(plan([slice('a', [])], group([])), nothing);
  });

  it('are changed in place for an endpoint that was changed, removed or added', () => {
    const a = slice('a', endpoints(0, 3));
    const changed = [endpoint('0', false), ...endpoints(1, 2)];
    assert.deepEqual(plan([a], group(changed)), { ...nothing, update: ['a 3'] });
    assert.equal(planSlices([a], [group(changed)]).update[0]?.endpoints[0]?.conditions?.ready, false);
    assert.deepEqual(plan([a], group(endpoints(0, 2))), { ...nothing, update: ['a 2'] });
    assert.deepEqual(plan([a], group(endpoints(0, 4))), { ...nothing, update: ['a 4'] });
  });

  it('hold at most a hundred endpoints; more go into new slices', () => {
    assert.deepEqual(plan([], group(endpoints(0, 2 * MAX_ENDPOINTS + 1))), {
      ...nothing,
      create: ['IPv4 100', 'IPv4 100', 'IPv4 1'],
    });
    const full = slice('full', endpoints(0, MAX_ENDPOINTS));
    assert.deepEqual(plan([full], group(endpoints(0, MAX_ENDPOINTS + 1))), { ...nothing, create: ['IPv4 1'] });
  });

  it('are filled first where another change is written anyway, then by fill level', () => {
    const [small, large] = [slice('small', endpoints(0, 2)), slice('large', endpoints(10, 5))];
    const wanted = [...endpoints(0, 2), ...endpoints(10, 5), endpoint('99')];
    assert.deepEqual(plan([small, large], group(wanted)).update, ['large 6']);
    const changing = [endpoint('0', false), ...wanted.slice(1)];
    assert.deepEqual(plan([small, large], group(changing)).update, ['small 3']);
  });

  it('are deleted when they are empty, but the last one stays', () => {
    const [a, b] = [slice('a', endpoints(0, 1)), slice('b', endpoints(1, 1))];
    assert.deepEqual(plan([a, b], group(endpoints(0, 1))), { ...nothing, delete: ['b'] });
    assert.deepEqual(plan([a, b], group([])), { create: [], update: ['a 0'], delete: ['b'] });
    assert.deepEqual(plan([], group([])), { ...nothing, create: ['IPv4 0'] });
  });

  it('have one family and one list of ports; all others are deleted', () => {
    const old = slice('old', endpoints(0, 1), { ports: [{ name: 'http', port: 81 }] });
    assert.deepEqual(plan([old], group(endpoints(0, 1))), { create: ['IPv4 1'], update: [], delete: ['old'] });
    const six = slice('six', endpoints(0, 1), { addressType: 'IPv6' });
    assert.deepEqual(plan([six], group(endpoints(0, 1))), { create: ['IPv4 1'], update: [], delete: ['six'] });
    const both = [slice('four', endpoints(0, 1)), six];
    assert.deepEqual(plan(both, group(endpoints(0, 1)), group(endpoints(0, 1), 'IPv6')), nothing);
    assert.deepEqual(plan(both).delete, ['four', 'six']);
  });

  it('identify an endpoint without a pod by its addresses', () => {
    const plain = { addresses: ['10.0.0.7'], conditions: { ready: true } } as Endpoint;
    assert.deepEqual(plan([slice('a', [plain])], group([plain])), nothing);
    const other = { ...plain, addresses: ['10.0.0.8'] };
    assert.deepEqual(plan([slice('a', [plain])], group([other])), { ...nothing, update: ['a 1'] });
    assert.equal(planSlices([slice('a', [plain])], [group([other])]).update[0]?.endpoints[0]?.addresses[0], '10.0.0.8');
  });
});
