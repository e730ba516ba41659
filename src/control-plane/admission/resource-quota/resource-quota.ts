import { resourceQuotas } from '../../../api/client/resource-types.ts';
import { evaluatorOf } from '../../../api/quota/evaluators.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { refusal } from '../attributes.ts';
import type { LimitedResource } from './charge-quotas.ts';
import type { QuotaLedger } from './quota-queues.ts';
import { QuotaQueues } from './quota-queues.ts';

export interface ResourceQuotaOptions {
  readonly reader: ObjectReader;
  readonly ledger: QuotaLedger;
  readonly nowMs: () => number;
  readonly limited: readonly LimitedResource[];
}

/**
 * Ensures that no namespace uses more than its quotas allow, by charging the usage before an object is stored.
 * Upstream: ResourceQuota.
 */
export function createResourceQuota({ reader, limited, ...options }: ResourceQuotaOptions): AdmissionPlugin {
  const queues = new QuotaQueues({ reader, ...options });
  const limitedScopes = limited.flatMap(({ matchScopes }) => matchScopes);
  return {
    name: 'ResourceQuota',
    handles: mayUseMore,
    async validate(attributes) {
      const { definition, namespace, object, oldObject, operation, subresource, context } = attributes;
      const evaluator = evaluatorOf(definition.type);
      if (evaluator === undefined || object === undefined) return;
      if (limited.length === 0 && reader.list(resourceQuotas, namespace).length === 0) return;
      const own = limited.filter(
        ({ apiGroup, resource }) => apiGroup === definition.type.group && resource === definition.type.plural,
      );
      const request = {
        evaluator,
        object,
        oldObject: operation === 'UPDATE' ? oldObject : undefined,
        subresource,
        limited: own,
        limitedScopes,
      };
      const refused = await queues.charge({ namespace, request, dryRun: context.dryRun });
      if (refused === undefined) return;
      throw 'why' in refused ? refusal(attributes, refused.why) : refused.error;
    },
  };
}

function mayUseMore({
  operation,
  namespace,
  definition,
  subresource,
  object,
  oldObject,
}: AdmissionAttributes): boolean {
  if (namespace === '' || definition.type.plural === 'namespaces') return false;
  if (operation === 'CREATE') return subresource === '' && evaluatorOf(definition.type) !== undefined;
  if (operation !== 'UPDATE' || object === undefined || oldObject === undefined) return false;
  return evaluatorOf(definition.type)?.mayGrow(subresource, oldObject, object) === true;
}
