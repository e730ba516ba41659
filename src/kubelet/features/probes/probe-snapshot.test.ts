import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProbeEntries } from './probe-snapshot.ts';

test('rubbish among what was saved is left out', () => {
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

test('the last entry about a thing counts', () => {
  const saved = (verdict: string) => ({ id: 'c', type: 'readiness', verdict });
  assert.deepEqual(
    parseProbeEntries([{ completeSinceMs: 1 }, saved('failure'), saved('success'), { completeSinceMs: 2 }]),
    { verdicts: new Map([['readiness c', 'success']]), completeSinceMs: 2 },
  );
});
