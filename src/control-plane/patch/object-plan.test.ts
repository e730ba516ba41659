import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplicationControllerSpecSchema } from '../../api/core/replication-controller.ts';
import { FlowSchemaSpecSchema } from '../../api/flowcontrol/flow-schema.ts';
import { NetworkPolicyPeerSchema, NetworkPolicySpecSchema } from '../../api/networking/network-policy.ts';
import { ResourceClaimSpecSchema } from '../../api/resource/resource-claim.ts';
import { planField } from './object-plan.ts';

test('a struct that Go holds by value has no owner itself, and one behind a pointer has', () => {
  assert.deepEqual(
    [
      planField(ResourceClaimSpecSchema, 'devices'),
      planField(FlowSchemaSpecSchema, 'priorityLevelConfiguration'),
      planField(NetworkPolicySpecSchema, 'podSelector'),
      planField(NetworkPolicyPeerSchema, 'podSelector'),
      planField(ReplicationControllerSpecSchema, 'template'),
    ].map((field) => field?.alwaysThere),
    [true, true, true, false, false],
  );
});
