import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { ImageLeases } from './image-leases.ts';

describe('a lease of an image', () => {
  it('holds without limit while the image is fetched, and ten minutes once it is there', async () => {
    const clock = new FakeClock();
    const leases = new ImageLeases(clock);
    leases.hold('pod', 'app', 'app:1');
    await clock.advance(3_600_000);
    assert.deepEqual([...leases.leased()], ['app:1']);
    leases.confirm('pod', 'app', 'sha256:1');
    await clock.advance(599_999);
    assert.deepEqual([...leases.leased()], ['app:1', 'sha256:1']);
    await clock.advance(1);
    assert.deepEqual([...leases.leased()], []);
    leases.confirm('pod', 'app', 'sha256:1');
    assert.deepEqual([...leases.leased()], [], 'what ran out is not confirmed again');
  });

  it('is released for one container or for the whole pod, and for no other', () => {
    const leases = new ImageLeases(new FakeClock());
    for (const [pod, container] of [
      ['pod', 'app'],
      ['pod', 'log'],
      ['pod', 'web'],
      ['pod2', 'app'],
    ] as const)
      leases.hold(pod, container, `${pod}-${container}`);
    leases.release('pod', 'log');
    assert.deepEqual([...leases.leased()], ['pod-app', 'pod-web', 'pod2-app']);
    leases.releasePod('pod');
    assert.deepEqual([...leases.leased()], ['pod2-app']);
  });
});
