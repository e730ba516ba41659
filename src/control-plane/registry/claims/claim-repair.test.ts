import assert from 'node:assert/strict';
import test from 'node:test';
import type { HeldClaim } from '../../model/resource-definition.ts';
import { computeClaimRepairs } from './claim-repair.ts';

const stored = (name: string, owner: string, revision = 1): { key: string; value: string; revision: number } => ({
  key: `/registry/ranges/serviceips/${name}`,
  value: owner,
  revision,
});
const held = (name: string, owner: string): HeldClaim => ({ space: 'serviceips', name, owner });

test('a claim that nobody has is given back when nobody has had it since the last look', () => {
  const claims = [stored('10.0.0.1', 'a/web/1'), stored('10.0.0.2', 'a/gone/2', 5)];
  const first = computeClaimRepairs(claims, [held('10.0.0.1', 'a/web/1')], new Map());
  assert.deepEqual([first.release, [...first.suspects]], [[], [['/registry/ranges/serviceips/10.0.0.2', 5]]]);
  assert.deepEqual(computeClaimRepairs(claims, [held('10.0.0.1', 'a/web/1')], first.suspects).release, [claims[1]]);
});

test('a claim that was made anew meanwhile is not given back', () => {
  const first = computeClaimRepairs([stored('10.0.0.2', 'a/gone/2', 5)], [], new Map());
  assert.deepEqual(computeClaimRepairs([stored('10.0.0.2', 'a/new/3', 9)], [], first.suspects).release, []);
});

test('what an object has without a claim is claimed, and a name that two have is told', () => {
  const { take, disputed } = computeClaimRepairs(
    [stored('10.0.0.2', 'a/one/1')],
    [held('10.0.0.1', 'a/web/1'), held('10.0.0.2', 'a/two/2'), held('10.0.0.2', 'a/one/1')],
    new Map(),
  );
  assert.deepEqual([take, disputed], [[held('10.0.0.1', 'a/web/1')], [held('10.0.0.2', 'a/two/2')]]);
});
