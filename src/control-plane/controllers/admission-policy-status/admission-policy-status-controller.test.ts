import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ExpressionWarning } from '../../../api/admissionregistration/validating-admission-policy.ts';
import { validatingAdmissionPolicies } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createAdmissionPolicyStatusController } from './admission-policy-status-controller.ts';

const warning: ExpressionWarning = { fieldRef: 'spec.validations[0].expression', warning: 'doubtful' };

it("the status of a policy shows the type checker's warnings for its current generation", async () => {
  let warnings = [warning];
  const world = new ControllerWorld({
    make: (options) => [createAdmissionPolicyStatusController({ ...options, warningsOf: () => warnings })],
  });
  world.api.seed(validatingAdmissionPolicies, {
    metadata: { name: 'p', namespace: '', uid: 'u', generation: 1 },
    spec: {},
    status: {},
  });
  world.start();
  await world.run(1_000);
  const key = { namespace: '', name: 'p' };
  const status = () => world.api.peek(validatingAdmissionPolicies, key)?.status;
  assert.deepEqual(status(), { observedGeneration: 1, typeChecking: { expressionWarnings: [warning] } });
  warnings = [];
  world.api.change(validatingAdmissionPolicies, key, (policy) => ({
    ...policy,
    spec: { failurePolicy: 'Ignore' as const },
  }));
  await world.run(1_000);
  assert.deepEqual(status(), { observedGeneration: 2, typeChecking: {} });
  await world.stop();
});
