import assert from 'node:assert/strict';
import test from 'node:test';
import type { HeldAllocation } from '../../model/resource-definition.ts';
import { computeAllocationRepairs } from './allocation-repair.ts';

const stored = (name: string, owner: string, revision = 1): { key: string; value: string; revision: number } => ({
  key: `/registry/ranges/serviceips/${name}`,
  value: owner,
  revision,
});
const held = (name: string, owner: string): HeldAllocation => ({ space: 'serviceips', name, owner });

test('an allocation without an object is released if it had none in the previous check either', () => {
  const claims = [stored('10.0.0.1', 'a/web/1'), stored('10.0.0.2', 'a/gone/2', 5)];
  const first = computeAllocationRepairs(claims, [held('10.0.0.1', 'a/web/1')], new Map());
  assert.deepEqual([first.release, [...first.suspects]], [[], [['/registry/ranges/serviceips/10.0.0.2', 5]]]);
  assert.deepEqual(computeAllocationRepairs(claims, [held('10.0.0.1', 'a/web/1')], first.suspects).release, [
    claims[1],
  ]);
});

test('an allocation that was renewed between two checks is not released', () => {
  const first = computeAllocationRepairs([stored('10.0.0.2', 'a/gone/2', 5)], [], new Map());
  assert.deepEqual(computeAllocationRepairs([stored('10.0.0.2', 'a/new/3', 9)], [], first.suspects).release, []);
});

test("an object's missing allocation is created, and a name of two objects is reported", () => {
  const { take, disputed } = computeAllocationRepairs(
    [stored('10.0.0.2', 'a/one/1')],
    [held('10.0.0.1', 'a/web/1'), held('10.0.0.2', 'a/two/2'), held('10.0.0.2', 'a/one/1')],
    new Map(),
  );
  assert.deepEqual([take, disputed], [[held('10.0.0.1', 'a/web/1')], [held('10.0.0.2', 'a/two/2')]]);
});
