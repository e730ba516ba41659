import type { ApiClient } from '../../../api/client/api-client.ts';
import { resourceQuotas } from '../../../api/client/resource-types.ts';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import {
  createCertificateApproval,
  createCertificateRequestSignature,
  createCertificateSigning,
  createCertificateSubjectRestriction,
} from '../../admission/certificates.ts';
import { createClusterTrustBundleAttest, createPodCertificateContents } from '../../admission/pod-certificates.ts';
import { createDefaultTolerationSeconds } from '../../admission/default-toleration-seconds.ts';
import { createEventRateLimit } from '../../admission/event-rate-limit.ts';
import { alwaysAdmit, alwaysDeny, createNamespaceExists } from '../../admission/everything-or-nothing.ts';
import { againWhilePending } from '../../admission/initializers/again-while-pending.ts';
import { createInitializers } from '../../admission/initializers/initializers.ts';
import { createLimitRanger } from '../../admission/limit-ranger/limit-ranger.ts';
import { createNamespaceLifecycle } from '../../admission/namespace-lifecycle.ts';
import { createNodeRestriction } from '../../admission/node-restriction.ts';
import { pluginFlagProblems, pluginsThatAreOn } from '../../admission/plugin-names.ts';
import {
  alwaysPullImages,
  createPodResizeValidator,
  denyServiceExternalIps,
  extendedResourceToleration,
  limitPodHardAntiAffinityTopology,
} from '../../admission/pod-extras.ts';
import { createPodSecurity } from '../../admission/pod-security/pod-security.ts';
import { createPriority } from '../../admission/priority.ts';
import { createResourceQuota } from '../../admission/resource-quota/resource-quota.ts';
import { createRuntimeClassAdmission } from '../../admission/runtime-class.ts';
import { createServiceAccountAdmission } from '../../admission/service-account.ts';
import { createClaimStatusRights } from '../../admission/claim-status-rights.ts';
import { createDeviceAdminAccess } from '../../admission/device-admin-access.ts';
import { createDefaultIngressClass } from '../../admission/default-ingress-class.ts';
import {
  createDefaultStorageClass,
  createPersistentVolumeClaimResize,
  storageObjectInUseProtection,
} from '../../admission/storage.ts';
import { taintNodesByCondition } from '../../admission/taint-nodes-by-condition.ts';
import type { FindKind } from '../../admission/policies/find-params.ts';
import { createMutatingWebhooks } from '../../admission/webhooks/mutating-webhooks.ts';
import { createMutatingPolicies } from '../../admission/policies/mutating-policies.ts';
import { createValidatingPolicies } from '../../admission/policies/validating-policies.ts';
import { createValidatingWebhooks } from '../../admission/webhooks/validating-webhooks.ts';
import { createConditionCheck } from '../../admission/webhooks/webhook-conditions.ts';
import { WebhookClient } from '../../admission/webhooks/webhook-client.ts';
import { createRbacEscalationCheck } from '../../authz/rbac/rbac-escalation.ts';
import type { RoleGrants } from '../../authz/rbac/role-grants.ts';
import type { AdmissionPlugin } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Authorizer } from '../../model/user-info.ts';
import { equalJson } from '../../patch/json-value.ts';
import { checkRequestSignature, readCertificateRequest, readRequestKey } from '../../../pki/request-reader.ts';
import { mergedByPolicy } from '../../registry/write/merged-by-policy.ts';
import { patchedByPolicy, patchedByWebhook } from '../../registry/write/patched-by-webhook.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { readAdmissionSettings } from '../configuration/read-admission-settings.ts';

export interface AdmissionParts {
  readonly reader: ObjectReader;
  readonly grants: RoleGrants;
  readonly authorizer: Authorizer;
  /** Returns the kind that is served with this apiVersion and kind. */
  readonly findKind: FindKind;
  /** Returns the API server's client for its own API. It is called only after the server is complete. */
  readonly client: () => ApiClient;
  /** Resolves when the reader has seen all earlier writes. */
  readonly refresh: () => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface ComposedAdmission {
  /** All enabled plugins, in upstream's order. */
  readonly plugins: readonly AdmissionPlugin[];
  close(): void;
}

/** Creates admission. Throws `Invalid` if flags or the configuration file are invalid. */
export async function composeAdmission(
  options: ControlPlaneOptions,
  parts: AdmissionParts,
): Promise<ComposedAdmission> {
  const { enabledAdmission, disabledAdmission } = options;
  const problems = pluginFlagProblems(enabledAdmission, disabledAdmission);
  if (problems.length > 0) throw new KubeletError('Invalid', problems.join('; '));
  const settings = await readAdmissionSettings(options.admissionConfigFile);
  const { reader, grants, authorizer, clock, random, log } = parts;
  const nowMs = (): number => clock.nowMs();
  const webhooks = new WebhookClient({ reader, clock, random });
  const meetsConditions = createConditionCheck({ reader, authorizer });
  const calls = { reader, meetsConditions, log, post: webhooks.post, newUid: () => random.uuid() };
  const policies = { reader, authorizer, findKind: parts.findKind };
  const plain: readonly AdmissionPlugin[] = [
    alwaysAdmit,
    createNamespaceLifecycle(reader, parts.refresh),
    createNamespaceExists(reader),
    limitPodHardAntiAffinityTopology,
    createLimitRanger(reader),
    createServiceAccountAdmission({ reader, clock, random }),
    createNodeRestriction({ reader, authorizer, readCommonName: (pem) => readCertificateRequest(pem).commonName }),
    taintNodesByCondition,
    alwaysPullImages,
    createPodSecurity(reader, settings.podSecurity),
    createPriority(reader),
    createDefaultTolerationSeconds({ seconds: options.tolerationSeconds }),
    createEventRateLimit(settings.eventLimits ?? [], nowMs),
    extendedResourceToleration,
    createDefaultStorageClass(reader),
    createDefaultIngressClass(reader),
    storageObjectInUseProtection,
    createPersistentVolumeClaimResize(reader),
    createRuntimeClassAdmission(reader),
    createCertificateApproval(authorizer),
    createCertificateSigning(authorizer),
    createClusterTrustBundleAttest(authorizer),
    createCertificateSubjectRestriction(readCertificateRequest),
    createCertificateRequestSignature({ read: readCertificateRequest, signature: checkRequestSignature }),
    createPodCertificateContents({ authorizer, readStubKey: readRequestKey, nowMs }),
    denyServiceExternalIps,
    createPodResizeValidator(reader),
    createRbacEscalationCheck(grants, authorizer),
  ];
  const names = pluginsThatAreOn(enabledAdmission, disabledAdmission);
  if (names.includes('EventRateLimit') && settings.eventLimits === undefined)
    throw new KubeletError(
      'Invalid',
      'the admission plugin EventRateLimit needs a configuration: --admission-control-config-file',
    );
  const before = plain.filter(({ name }) => names.includes(name)).map(againWhilePending);
  const changes = { before, patched: patchedByPolicy, merged: mergedByPolicy, sameJson: equalJson };
  const mutating = createMutatingPolicies({ ...policies, ...changes });
  const mayRepeat = names.includes('MutatingAdmissionPolicy') ? [...before, mutating.again] : before;
  const last: readonly AdmissionPlugin[] = [
    mutating.plugin,
    createMutatingWebhooks({ ...calls, before: mayRepeat, patched: patchedByWebhook, sameJson: equalJson }),
    createInitializers(reader, authorizer),
    createValidatingPolicies(policies),
    createValidatingWebhooks(calls),
    createResourceQuota({ reader, nowMs, limited: settings.limitedResources, ledger: quotaLedger(parts.client) }),
    alwaysDeny,
  ];
  // These are rules of the API. In upstream they are not plugins, so no flag turns them off.
  const always = [createDeviceAdminAccess(reader), createClaimStatusRights(authorizer)];
  return {
    plugins: [...before, ...always, ...last.filter(({ name }) => names.includes(name))],
    close: () => webhooks.close(),
  };
}

/** Creates the ledger. Charges are ordinary API writes. */
function quotaLedger(client: () => ApiClient): Parameters<typeof createResourceQuota>[0]['ledger'] {
  return {
    get: (key) => client().get(resourceQuotas, key),
    write: (quota) => client().update(resourceQuotas, quota, { subresource: 'status' }),
  };
}
