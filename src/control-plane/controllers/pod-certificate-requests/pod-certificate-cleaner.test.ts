import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import { podCertificateRequests } from '../../../api/client/resource-types.ts';
import { formatTime } from '../../../api/time.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createPodCertificateCleaner } from './pod-certificate-cleaner.ts';

const MINUTE_MS = 60_000;

const request = (name: string, uid: string, createdMs: number): PodCertificateRequest => ({
  metadata: { namespace: 'shop', name, uid, creationTimestamp: formatTime(createdMs) },
  spec: {
    signerName: 'example.com/foo',
    podName: 'p',
    podUID: 'u',
    serviceAccountName: 'default',
    serviceAccountUID: 'u',
    nodeName: 'n',
    nodeUID: 'u',
  },
});

it('removes each request a quarter of an hour after its creation', async () => {
  const world = new ControllerWorld({ make: (options) => [createPodCertificateCleaner(options)] });
  const nowMs = world.clock.nowMs();
  world.api.seed(podCertificateRequests, request('old', 'old', nowMs - 20 * MINUTE_MS));
  world.api.seed(podCertificateRequests, request('new', 'new', nowMs));
  world.start();
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.writes, ['delete podcertificaterequests shop/old']);
  await world.clock.advance(14 * 60_000);
  assert.equal(world.api.writes.length, 1);
  await world.clock.advance(60_000);
  assert.deepEqual(world.api.writes.slice(1), ['delete podcertificaterequests shop/new']);
  await world.stop();
});

it('removes each request on time and none before, killed at any write and with late events', () => {
  const minutes = fc.integer({ min: 0, max: 20 });
  const steps = fc.array(
    fc.record({ name: fc.constantFrom('a', 'b', 'c'), ageMinutes: minutes, writes: fc.integer({ min: 1, max: 3 }) }),
    { minLength: 1, maxLength: 12 },
  );
  return fc.assert(
    fc.asyncProperty(steps, fc.nat(1_000), async (plays, seed) => {
      const world = new ControllerWorld({
        make: (options) => [createPodCertificateCleaner(options)],
        seed,
        lagMs: 600,
      });
      let kept = new Map<string, number>();
      const dueMs = ({ metadata }: PodCertificateRequest): number =>
        Date.parse(metadata.creationTimestamp ?? '') + 15 * MINUTE_MS;
      world.check = () => {
        const found = world.api.all(podCertificateRequests);
        const uids = new Set(found.map(({ metadata }) => metadata.uid));
        for (const [uid, atMs] of kept) assert.ok(uids.has(uid) || world.clock.nowMs() >= atMs, `${uid} is gone early`);
        kept = new Map(found.map((each) => [each.metadata.uid, dueMs(each)]));
      };
      world.start();
      for (const [serial, { name, ageMinutes, writes }] of plays.entries()) {
        // A request of the same name may take the place of one that is due at this moment.
        if (world.api.peek(podCertificateRequests, { namespace: 'shop', name }) !== undefined) {
          world.api.remove(podCertificateRequests, { namespace: 'shop', name });
          kept = new Map();
        }
        const createdMs = world.clock.nowMs() - ageMinutes * MINUTE_MS;
        world.api.seed(podCertificateRequests, request(name, `${name}-${serial}`, createdMs));
        world.restartAtWrite(writes);
        await world.clock.advance(world.random.next() * 2 * MINUTE_MS);
      }
      await world.clock.advance(16 * MINUTE_MS);
      assert.deepEqual(world.api.all(podCertificateRequests), []);
      await world.stop();
    }),
    { numRuns: 30 },
  );
});
