import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { choosePodRange } from './subnet.ts';

describe('the range for the pods of several nodes', () => {
  const own = 'kts1';

  it('is the first that no route leads into, but for routes of the own bridge', () => {
    assert.equal(choosePodRange(undefined, [], own), '10.112.0.0/16');
    assert.equal(choosePodRange(undefined, [{ dst: '10.112.3.0/24', dev: 'eth1' }], own), '10.113.0.0/16');
    assert.equal(choosePodRange(undefined, [{ dst: '10.112.3.0/24', dev: own }], own), '10.112.0.0/16');
    assert.equal(choosePodRange(undefined, [{ dst: 'default', dev: 'eth0' }], own), '10.112.0.0/16');
    assert.throws(() => choosePodRange(undefined, [{ dst: '10.112.0.0/12', dev: 'eth1' }], own), {
      kind: 'Conflict',
      message: /from 10.112.0.0\/16 to 10.127.0.0\/16 overlaps/,
    });
  });

  it('that the cluster has already is never replaced by another', () => {
    assert.equal(choosePodRange('10.120.0.0/16', [], own), '10.120.0.0/16');
    assert.throws(() => choosePodRange('10.120.0.0/16', [{ dst: '10.120.9.0/24', dev: 'eth1' }], own), {
      kind: 'Conflict',
      message: /the range for pods 10.120.0.0\/16 overlaps/,
    });
  });
});
