import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProbeEntries } from './probe-snapshot.ts';

test('invalid saved entries are skipped', () => {
  const rubbish = [
    undefined,
    null,
    7,
    'x',
    [],
    {},
    { id: 1 },
    { id: 'c', type: 'liveness', verdict: 'maybe' },
    { completeSinceMs: 'x' },
  ];
  assert.deepEqual(parseProbeEntries(rubbish), { verdicts: new Map(), completeSinceMs: Number.POSITIVE_INFINITY });
});

test('the last entry for a probe counts', () => {
  const saved = (verdict: string) => ({ id: 'c', type: 'readiness', verdict });
  assert.deepEqual(
    parseProbeEntries([{ completeSinceMs: 1 }, saved('failure'), saved('success'), { completeSinceMs: 2 }]),
    { verdicts: new Map([['readiness c', 'success']]), completeSinceMs: 2 },
  );
});

test('an entry counts only if all three of its parts make sense', () => {
  const good = { id: 'c', type: 'readiness', verdict: 'success' };
  const bad = [{ id: 1 }, { type: 'other' }, { verdict: 'unknown' }].map((part) => ({ ...good, ...part }));
  assert.equal(parseProbeEntries(bad).verdicts.size, 0);
  assert.equal(parseProbeEntries([good]).verdicts.size, 1);
});
