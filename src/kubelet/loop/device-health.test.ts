import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { ResourceStatus } from '../../api/core/pod-status.ts';
import { createDeviceHealth } from './device-health.ts';

const pod = buildPod({ 'metadata.uid': 'a' });
const health = (name: string): ResourceStatus => ({ name, resources: [{ resourceID: 'd', health: 'Healthy' }] });

function healthOf(isEnabled: boolean) {
  return createDeviceHealth({
    gates: { enabled: (gate) => gate === 'ResourceHealthStatus' && isEnabled },
    devices: { manager: { health: (uid, container) => [health(`${uid}/${container}`)] } },
    dra: {
      withClaims: (devices, { metadata }, container) => [
        ...(devices ?? []),
        health(`claim of ${metadata.uid}/${container}`),
      ],
    },
  });
}

it('a status shows the health of devices of plugins first, then of claims', () => {
  assert.deepEqual(
    healthOf(true)(pod, 'main')?.map(({ name }) => name),
    ['a/main', 'claim of a/main'],
  );
});

it('a status shows no devices while the gate is off', () => {
  assert.equal(healthOf(false)(pod, 'main'), undefined);
});
