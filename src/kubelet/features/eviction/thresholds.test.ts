import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMet, parseThresholds, thresholdText, withContainerFs } from './thresholds.ts';

const none = { hard: {}, soft: {}, softGraceMs: {}, minimumReclaim: {} };

test('amounts, shares, grace periods and minimum reclaims of the configuration are read; 0 % and 100 % mean none', () => {
  const parsed = parseThresholds(
    {
      hard: { 'nodefs.available': '10%', 'imagefs.available': '0%', 'pid.available': '100%' },
      soft: { 'memory.available': '1.5Gi' },
      softGraceMs: { 'memory.available': 90_000 },
      minimumReclaim: { 'nodefs.available': '500Mi' },
    },
    true,
  );
  assert.deepEqual(parsed, [
    {
      signal: 'nodefs.available',
      value: { kind: 'share', share: Math.fround(Math.fround(10) / 100) },
      graceMs: 0,
      minimumReclaim: { kind: 'amount', amount: 500 * 2 ** 20, text: '500Mi' },
    },
    {
      signal: 'memory.available',
      value: { kind: 'amount', amount: 1.5 * 2 ** 30, text: '1.5Gi' },
      graceMs: 90_000,
      minimumReclaim: undefined,
    },
  ]);
});

test('the hard memory threshold also bounds what pods use together, if the node enforces that', () => {
  const hard = { 'memory.available': '100Mi' };
  const signals = (enforces: boolean): string[] =>
    parseThresholds({ ...none, hard }, enforces).map(({ signal }) => signal);
  assert.deepEqual(signals(true), ['memory.available', 'allocatableMemory.available']);
  assert.deepEqual(signals(false), ['memory.available']);
  assert.deepEqual(parseThresholds({ ...none, soft: hard, softGraceMs: { 'memory.available': 1 } }, true).length, 1);
});

test('the file system of containers has the thresholds of the one it is on, whatever is configured for it', () => {
  const parsed = parseThresholds(
    { ...none, hard: { 'nodefs.available': '10%', 'imagefs.inodesFree': '5%', 'containerfs.available': '1Gi' } },
    false,
  );
  const signals = (on: 'nodefs' | 'imagefs'): string[] => withContainerFs(parsed, on).map(({ signal }) => signal);
  assert.deepEqual(signals('nodefs'), ['nodefs.available', 'imagefs.inodesFree', 'containerfs.available']);
  assert.deepEqual(signals('imagefs'), ['nodefs.available', 'imagefs.inodesFree', 'containerfs.inodesFree']);
});

test('a threshold is met below its amount, and with the minimum reclaim below both together', () => {
  const [threshold] = parseThresholds(
    { ...none, hard: { 'memory.available': '10%' }, minimumReclaim: { 'memory.available': '50' } },
    false,
  );
  assert.ok(threshold);
  const met = (available: number, untilReclaimed: boolean): boolean =>
    isMet(threshold, { available, capacity: 1000, atMs: 0 }, untilReclaimed);
  assert.deepEqual(
    [met(100, false), met(99, false), met(100, true), met(149, true), met(150, true)],
    [false, true, true, true, false],
  );
});

test('a share is shown as an amount, an amount as configured', () => {
  assert.equal(thresholdText({ kind: 'share', share: 0.5 }, 2 ** 30), '512Mi');
  assert.equal(thresholdText({ kind: 'amount', amount: 2 ** 30, text: '1024Mi' }, 2 ** 40), '1024Mi');
});
