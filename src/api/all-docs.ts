import { docs as initializerConfigurationDocs } from './admissionregistration/initializer-configuration.docs.ts';
import { docs as mutatingAdmissionPolicyDocs } from './admissionregistration/mutating-admission-policy.docs.ts';
import { docs as policyPartsDocs } from './admissionregistration/policy-parts.docs.ts';
import { docs as validatingAdmissionPolicyDocs } from './admissionregistration/validating-admission-policy.docs.ts';
import { docs as mutatingWebhookConfigurationDocs } from './admissionregistration/mutating-webhook-configuration.docs.ts';
import { docs as validatingWebhookConfigurationDocs } from './admissionregistration/validating-webhook-configuration.docs.ts';
import { docs as webhookDocs } from './admissionregistration/webhook.docs.ts';
import { docs as customResourceDefinitionDocs } from './apiextensions/custom-resource-definition.docs.ts';
import { docs as apiServiceDocs } from './apiregistration/api-service.docs.ts';
import { docs as controllerRevisionDocs } from './apps/controller-revision.docs.ts';
import { docs as daemonSetDocs } from './apps/daemon-set.docs.ts';
import { docs as deploymentDocs } from './apps/deployment.docs.ts';
import { docs as replicaSetDocs } from './apps/replica-set.docs.ts';
import { docs as statefulSetDocs } from './apps/stateful-set.docs.ts';
import { docs as selfSubjectReviewDocs } from './authentication/self-subject-review.docs.ts';
import { docs as tokenRequestDocs } from './authentication/token-request.docs.ts';
import { docs as tokenReviewDocs } from './authentication/token-review.docs.ts';
import { docs as accessReviewDocs } from './authorization/access-review.docs.ts';
import { docs as localSubjectAccessReviewDocs } from './authorization/local-subject-access-review.docs.ts';
import { docs as selfSubjectAccessReviewDocs } from './authorization/self-subject-access-review.docs.ts';
import { docs as selfSubjectRulesReviewDocs } from './authorization/self-subject-rules-review.docs.ts';
import { docs as subjectAccessReviewDocs } from './authorization/subject-access-review.docs.ts';
import { docs as horizontalPodAutoscalerV1Docs } from './autoscaling/horizontal-pod-autoscaler-v1.docs.ts';
import { docs as horizontalPodAutoscalerDocs } from './autoscaling/horizontal-pod-autoscaler.docs.ts';
import { docs as scaleDocs } from './autoscaling/scale.docs.ts';
import { docs as cronJobDocs } from './batch/cron-job.docs.ts';
import { docs as jobDocs } from './batch/job.docs.ts';
import { docs as certificateSigningRequestDocs } from './certificates/certificate-signing-request.docs.ts';
import { docs as clusterTrustBundleDocs } from './certificates/cluster-trust-bundle.docs.ts';
import { docs as storageVersionMigrationDocs } from './storagemigration/storage-version-migration.docs.ts';
import { docs as podCertificateRequestDocs } from './certificates/pod-certificate-request.docs.ts';
import { docs as leaseDocs } from './coordination/lease.docs.ts';
import { docs as bindingDocs } from './core/binding.docs.ts';
import { docs as componentStatusDocs } from './core/component-status.docs.ts';
import { docs as conditionDocs } from './core/condition.docs.ts';
import { docs as configMapDocs } from './core/config-map.docs.ts';
import { docs as containerDocs } from './core/container.docs.ts';
import { docs as deleteOptionsDocs } from './core/delete-options.docs.ts';
import { docs as endpointsDocs } from './core/endpoints.docs.ts';
import { docs as eventDocs } from './core/event.docs.ts';
import { docs as initializersDocs } from './core/initializers.docs.ts';
import { docs as limitRangeDocs } from './core/limit-range.docs.ts';
import { docs as metaDocs } from './core/meta.docs.ts';
import { docs as namespaceDocs } from './core/namespace.docs.ts';
import { docs as nodeDocs } from './core/node.docs.ts';
import { docs as persistentVolumeClaimDocs } from './core/persistent-volume-claim.docs.ts';
import { docs as persistentVolumeRemoteDocs } from './core/persistent-volume-remote.docs.ts';
import { docs as persistentVolumeDocs } from './core/persistent-volume.docs.ts';
import { docs as podSpecDocs } from './core/pod-spec.docs.ts';
import { docs as podStatusDocs } from './core/pod-status.docs.ts';
import { docs as podTemplateDocs } from './core/pod-template.docs.ts';
import { docs as podDocs } from './core/pod.docs.ts';
import { docs as probeDocs } from './core/probe.docs.ts';
import { docs as replicationControllerDocs } from './core/replication-controller.docs.ts';
import { docs as resourceQuotaDocs } from './core/resource-quota.docs.ts';
import { docs as resourceRequirementsDocs } from './core/resource-requirements.docs.ts';
import { docs as schedulingDocs } from './core/scheduling.docs.ts';
import { docs as secretDocs } from './core/secret.docs.ts';
import { docs as securityContextDocs } from './core/security-context.docs.ts';
import { docs as serviceAccountDocs } from './core/service-account.docs.ts';
import { docs as serviceDocs } from './core/service.docs.ts';
import { docs as volumeSourceRemoteDocs } from './core/volume-source-remote.docs.ts';
import { docs as volumeSourceDocs } from './core/volume-source.docs.ts';
import { docs as volumeDocs } from './core/volume.docs.ts';
import { docs as endpointSliceDocs } from './discovery/endpoint-slice.docs.ts';
import { docs as eventsEventDocs } from './events/event.docs.ts';
import { docs as flowSchemaDocs } from './flowcontrol/flow-schema.docs.ts';
import { docs as priorityLevelConfigurationDocs } from './flowcontrol/priority-level-configuration.docs.ts';
import { docs as ingressClassDocs } from './networking/ingress-class.docs.ts';
import { docs as ingressDocs } from './networking/ingress.docs.ts';
import { docs as ipAddressDocs } from './networking/ip-address.docs.ts';
import { docs as networkPolicyDocs } from './networking/network-policy.docs.ts';
import { docs as serviceCidrDocs } from './networking/service-cidr.docs.ts';
import { docs as runtimeClassDocs } from './node/runtime-class.docs.ts';
import { docs as evictionDocs } from './policy/eviction.docs.ts';
import { docs as podDisruptionBudgetDocs } from './policy/pod-disruption-budget.docs.ts';
import { docs as clusterRoleBindingDocs } from './rbac/cluster-role-binding.docs.ts';
import { docs as clusterRoleDocs } from './rbac/cluster-role.docs.ts';
import { docs as policyRuleDocs } from './rbac/policy-rule.docs.ts';
import { docs as roleBindingDocs } from './rbac/role-binding.docs.ts';
import { docs as roleDocs } from './rbac/role.docs.ts';
import { docs as deviceClassDocs } from './resource/device-class.docs.ts';
import { docs as deviceConfigDocs } from './resource/device-config.docs.ts';
import { docs as resourceClaimTemplateDocs } from './resource/resource-claim-template.docs.ts';
import { docs as resourceClaimDocs } from './resource/resource-claim.docs.ts';
import { docs as resourceSliceDocs } from './resource/resource-slice.docs.ts';
import { docs as priorityClassDocs } from './scheduling/priority-class.docs.ts';
import { docs as statusDocs } from './status/status.docs.ts';
import { docs as csiDriverDocs } from './storage/csi-driver.docs.ts';
import { docs as csiNodeDocs } from './storage/csi-node.docs.ts';
import { docs as csiStorageCapacityDocs } from './storage/csi-storage-capacity.docs.ts';
import { docs as storageClassDocs } from './storage/storage-class.docs.ts';
import { docs as volumeAttachmentDocs } from './storage/volume-attachment.docs.ts';
import { docs as volumeAttributesClassDocs } from './storage/volume-attributes-class.docs.ts';
import type { TypeDocs } from './schema/docs.ts';

/** The texts of `kubectl explain` for all types. Only the API server's documents load it. */
export const allDocs: readonly TypeDocs[] = [
  ...mutatingWebhookConfigurationDocs,
  ...validatingWebhookConfigurationDocs,
  ...webhookDocs,
  ...initializerConfigurationDocs,
  ...initializersDocs,
  ...policyPartsDocs,
  ...validatingAdmissionPolicyDocs,
  ...mutatingAdmissionPolicyDocs,
  ...customResourceDefinitionDocs,
  ...apiServiceDocs,
  ...controllerRevisionDocs,
  ...daemonSetDocs,
  ...deploymentDocs,
  ...replicaSetDocs,
  ...statefulSetDocs,
  ...selfSubjectReviewDocs,
  ...tokenRequestDocs,
  ...tokenReviewDocs,
  ...accessReviewDocs,
  ...localSubjectAccessReviewDocs,
  ...selfSubjectAccessReviewDocs,
  ...selfSubjectRulesReviewDocs,
  ...subjectAccessReviewDocs,
  ...horizontalPodAutoscalerV1Docs,
  ...horizontalPodAutoscalerDocs,
  ...scaleDocs,
  ...cronJobDocs,
  ...jobDocs,
  ...certificateSigningRequestDocs,
  ...clusterTrustBundleDocs,
  ...podCertificateRequestDocs,
  ...storageVersionMigrationDocs,
  ...leaseDocs,
  ...bindingDocs,
  ...componentStatusDocs,
  ...conditionDocs,
  ...configMapDocs,
  ...containerDocs,
  ...deleteOptionsDocs,
  ...endpointsDocs,
  ...eventDocs,
  ...limitRangeDocs,
  ...metaDocs,
  ...namespaceDocs,
  ...nodeDocs,
  ...persistentVolumeClaimDocs,
  ...persistentVolumeDocs,
  ...persistentVolumeRemoteDocs,
  ...podSpecDocs,
  ...podStatusDocs,
  ...podTemplateDocs,
  ...podDocs,
  ...probeDocs,
  ...replicationControllerDocs,
  ...resourceQuotaDocs,
  ...resourceRequirementsDocs,
  ...schedulingDocs,
  ...secretDocs,
  ...securityContextDocs,
  ...serviceAccountDocs,
  ...serviceDocs,
  ...volumeSourceRemoteDocs,
  ...volumeSourceDocs,
  ...volumeDocs,
  ...endpointSliceDocs,
  ...eventsEventDocs,
  ...flowSchemaDocs,
  ...priorityLevelConfigurationDocs,
  ...ingressClassDocs,
  ...ingressDocs,
  ...ipAddressDocs,
  ...networkPolicyDocs,
  ...serviceCidrDocs,
  ...runtimeClassDocs,
  ...evictionDocs,
  ...podDisruptionBudgetDocs,
  ...clusterRoleBindingDocs,
  ...clusterRoleDocs,
  ...policyRuleDocs,
  ...roleBindingDocs,
  ...roleDocs,
  ...deviceClassDocs,
  ...deviceConfigDocs,
  ...resourceClaimTemplateDocs,
  ...resourceClaimDocs,
  ...resourceSliceDocs,
  ...priorityClassDocs,
  ...statusDocs,
  ...csiDriverDocs,
  ...csiNodeDocs,
  ...csiStorageCapacityDocs,
  ...storageClassDocs,
  ...volumeAttachmentDocs,
  ...volumeAttributesClassDocs,
];
