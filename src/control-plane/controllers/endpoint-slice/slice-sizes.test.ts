import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { EndpointPort, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { SliceSizes } from './slice-sizes.ts';

const families = ['IPv4', 'IPv6'] as const;
/** The second has the fields of the first in another order. */
const portLists: readonly (readonly EndpointPort[])[] = [
  [{ name: 'a', port: 80, protocol: 'TCP' }],
  [{ protocol: 'TCP', port: 80, name: 'a' }],
  [{ name: 'a', port: 81, protocol: 'TCP' }],
  [],
];
const changeArb = fc.record({
  name: fc.nat(7),
  family: fc.constantFrom(...families),
  ports: fc.constantFrom(...portLists),
  /** Undefined removes the slice. */
  endpoints: fc.option(fc.nat(4), { nil: undefined }),
});
const isSame = (one: readonly EndpointPort[], other: readonly EndpointPort[]): boolean =>
  one.length === other.length && one.every(({ port }, index) => port === other[index]?.port);

it('answers as a walk over all slices does', () =>
  fc.assert(
    fc.property(fc.array(changeArb, { maxLength: 40 }), fc.nat(5), (changes, most) => {
      const sizes = new SliceSizes();
      const all = new Map<string, EndpointSlice>();
      for (const { name, family, ports, endpoints } of changes) {
        const before = all.get(`s${name}`);
        if (before !== undefined) sizes.remove(before);
        all.delete(`s${name}`);
        if (endpoints === undefined) continue;
        const slice: EndpointSlice = {
          metadata: { name: `s${name}`, namespace: 'default', uid: '' },
          addressType: family,
          ports: [...ports],
          endpoints: Array.from({ length: endpoints }, (_, index) => ({ addresses: [`10.0.0.${index}`] })),
        };
        all.set(slice.metadata.name, slice);
        sizes.add(slice);
      }
      const slices = [...all.values()];
      for (const family of families) {
        const own = slices.filter(({ addressType }) => addressType === family);
        assert.equal(sizes.filled(family), own.filter(({ endpoints }) => endpoints.length > 0).length);
        for (const ports of portLists) {
          const room = own
            .filter((slice) => isSame(slice.ports, ports) && slice.endpoints.length < most)
            .sort((one, other) => other.endpoints.length - one.endpoints.length);
          assert.deepEqual([...sizes.withRoom(family, ports, most)], room);
        }
      }
    }),
  ));

it('forgets a slice that it does not have without a change', () => {
  const sizes = new SliceSizes();
  const slice: EndpointSlice = {
    metadata: { name: 's', namespace: 'default', uid: '' },
    addressType: 'IPv4',
    ports: [],
    endpoints: [{ addresses: ['10.0.0.1'] }],
  };
  sizes.remove(slice);
  sizes.add(slice);
  sizes.remove(slice);
  sizes.remove(slice);
  assert.equal(sizes.filled('IPv4'), 0);
});
