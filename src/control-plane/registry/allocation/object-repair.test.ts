import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newServiceAddress } from '../../../api/networking/service-address.ts';
import type { IPAddress } from '../../../api/networking/ip-address.ts';
import { computeObjectRepairs } from './object-repair.ts';

const at = (ip: string, uid = ''): IPAddress => {
  const address = newServiceAddress(ip, { namespace: 'default', name: 'web' });
  return { ...address, metadata: { ...address.metadata, uid } };
};

it('creates missing allocations at once, and removes unused ones after a whole period', () => {
  const first = computeObjectRepairs([at('10.0.0.1')], [at('10.0.0.2', 'b')], new Map());
  assert.deepEqual([first.create.map(({ metadata }) => metadata.name), first.remove], [['10.0.0.1'], []]);
  const actual = [at('10.0.0.1', 'a'), at('10.0.0.2', 'b')];
  const second = computeObjectRepairs([at('10.0.0.1')], actual, first.suspects);
  assert.deepEqual([second.create, second.remove.map(({ metadata }) => metadata.uid)], [[], ['b']]);
  const again = computeObjectRepairs([], [at('10.0.0.2', 'new')], first.suspects);
  assert.deepEqual([again.remove, [...again.suspects.values()]], [[], ['new']]);
});
