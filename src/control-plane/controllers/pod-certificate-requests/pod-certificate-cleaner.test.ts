import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import { podCertificateRequests } from '../../../api/client/resource-types.ts';
import { formatTime } from '../../../api/time.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createPodCertificateCleaner } from './pod-certificate-cleaner.ts';

it('removes each request a quarter of an hour after its creation', async () => {
  const world = new ControllerWorld({ make: (options) => [createPodCertificateCleaner(options)] });
  const request = (name: string, ageMs: number): PodCertificateRequest => ({
    metadata: {
      namespace: 'shop',
      name,
      uid: name,
      creationTimestamp: formatTime(world.clock.nowMs() - ageMs),
    },
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
  world.api.seed(podCertificateRequests, request('old', 20 * 60_000));
  world.api.seed(podCertificateRequests, request('new', 0));
  world.start();
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.writes, ['delete podcertificaterequests shop/old']);
  await world.clock.advance(14 * 60_000);
  assert.equal(world.api.writes.length, 1);
  await world.clock.advance(60_000);
  assert.deepEqual(world.api.writes.slice(1), ['delete podcertificaterequests shop/new']);
  await world.stop();
});
