import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn } from '../../base/turn.ts';
import { startRegistry, widgets } from './testing/registry-fixture.ts';

test('an apply lets other requests work between its own steps, in addition to the pauses of every patch', async () => {
  let rests = 0;
  const pace = {
    rest: () => {
      rests++;
      return nextTurn();
    },
  };
  const fixture = await startRegistry([], { pace });
  const restsDuring = async (type: 'apply' | 'merge', weight: number): Promise<number> => {
    const before = rests;
    const value = {
      apiVersion: 'test.io/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      spec: { parts: Array.from({ length: 100 }, (_, index) => ({ name: `p${index}`, weight })) },
    };
    const request = fixture.request(widgets, 'a', '', { fieldManager: 'tester', force: true });
    await fixture.registry.patch(request, { type, value, duplicates: [] });
    return rests - before;
  };
  try {
    await restsDuring('apply', 1);
    const [apply, merge] = [await restsDuring('apply', 2), await restsDuring('merge', 3)];
    assert.ok(apply >= merge + 3, `${apply} pauses of an apply, ${merge} of a merge patch`);
  } finally {
    await fixture.stop();
  }
});
