import type {
  ExpressionWarning,
  ValidatingAdmissionPolicy,
} from '../../../api/admissionregistration/validating-admission-policy.ts';
import { validatingAdmissionPolicies } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';

export interface PolicyStatusOptions extends ControllerOptions {
  /** Returns the result of the type checker. */
  readonly warningsOf: (policy: ValidatingAdmissionPolicy) => readonly ExpressionWarning[];
}

/**
 * Writes the results of the type checker into the status of policies (upstream:
 * validatingadmissionpolicy-status-controller).
 */
export function createAdmissionPolicyStatusController(options: PolicyStatusOptions): Controller {
  const { client, informers, clock, log, warningsOf } = options;
  const policies = informers.for(validatingAdmissionPolicies);
  const sync = async (name: string): Promise<void> => {
    const policy = policies.get({ namespace: '', name });
    if (policy === undefined || isChecked(policy)) return;
    const warnings = warningsOf(policy);
    const status = {
      ...policy.status,
      observedGeneration: policy.metadata.generation ?? 0,
      typeChecking: warnings.length === 0 ? {} : { expressionWarnings: [...warnings] },
    };
    try {
      await client.update(validatingAdmissionPolicies, { ...policy, status }, { subresource: 'status' });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'admission-policy-status', clock, log, workers: 1, sync });
  const end = policies.addHandlers({
    onAdd: ({ metadata }) => queue.add(metadata.name),
    onUpdate: (_before, { metadata }) => queue.add(metadata.name),
  });
  return runController({
    name: 'validating admission policy status controller',
    log,
    queues: [queue],
    informers: [policies],
    ends: [end],
  });
}

function isChecked({ metadata, status }: ValidatingAdmissionPolicy): boolean {
  const { observedGeneration, typeChecking } = status ?? {};
  return typeChecking !== undefined && observedGeneration === (metadata.generation ?? 0);
}
