import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoint } from '../../api/discovery/endpoint-slice.ts';
import { selectBackends } from './select-backends.ts';
import { slice } from './testing/service-builders.ts';

const end = (
  number: number,
  hints?: Endpoint['hints'],
  conditions: Endpoint['conditions'] = { ready: true },
): Partial<Endpoint> => ({
  addresses: [`10.84.0.${number}`],
  nodeName: number === 2 ? 'node' : 'other',
  conditions,
  ...(hints === undefined ? {} : { hints }),
});
const zones = (...names: string[]): Endpoint['hints'] => ({ forZones: names.map((name) => ({ name })) });
const nodes = (...names: string[]): Endpoint['hints'] => ({ forNodes: names.map((name) => ({ name })) });
const all = (zone: string | undefined, ...ends: Partial<Endpoint>[]): number[] =>
  selectBackends([slice('web', ends)], { nodeName: 'node', zone, portName: '', protocol: 'TCP' }).all.map(({ ip }) =>
    Number(ip.split('.').at(-1)),
  );

describe('endpoint hints', () => {
  it('for the zone of the node narrow the endpoints to it', () => {
    assert.deepEqual(all('a', end(2, zones('a')), end(3, zones('b')), end(4, zones('a', 'b'))), [2, 4]);
  });

  it('count only if every ready endpoint has one, and one is for this place', () => {
    assert.deepEqual(all('a', end(2, zones('a')), end(3)), [2, 3]);
    assert.deepEqual(all('c', end(2, zones('a')), end(3, zones('b'))), [2, 3]);
    assert.deepEqual(all(undefined, end(2, zones('a')), end(3, zones('b'))), [2, 3]);
    assert.deepEqual(all('a', end(2, zones('a')), end(3, undefined, { ready: false })), [2]);
  });

  it('for the node come before those for the zone', () => {
    const both = (zone: string, node: string): Endpoint['hints'] => ({ ...zones(zone), ...nodes(node) });
    assert.deepEqual(all('a', end(2, both('a', 'node')), end(3, both('a', 'other'))), [2]);
    assert.deepEqual(all('a', end(2, both('a', 'x')), end(3, both('b', 'y'))), [2]);
  });

  it('do not narrow the endpoints of the node itself', () => {
    const slices = [slice('web', [end(2, zones('b')), end(3, zones('a'))])];
    const { local } = selectBackends(slices, { nodeName: 'node', zone: 'a', portName: '', protocol: 'TCP' });
    assert.deepEqual(
      local.map(({ ip }) => ip),
      ['10.84.0.2'],
    );
  });
});
