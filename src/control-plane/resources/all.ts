import type { ResourceDefinition } from '../model/resource-definition.ts';
import { bindingResource } from './core/binding.ts';
import { configMapResource } from './core/config-map.ts';
import { endpointsResource } from './core/endpoints.ts';
import { eventResource } from './core/event.ts';
import { limitRangeResource } from './core/limit-range.ts';
import { namespaceResource } from './core/namespace.ts';
import { nodeResource } from './core/node.ts';
import { persistentVolumeResource } from './core/persistent-volume.ts';
import { persistentVolumeClaimResource } from './core/persistent-volume-claim.ts';
import { podResource } from './core/pod.ts';
import { podTemplateResource } from './core/pod-template.ts';
import { replicationControllerResource } from './core/replication-controller.ts';
import { resourceQuotaResource } from './core/resource-quota.ts';
import { secretResource } from './core/secret.ts';
import { serviceResource } from './core/service.ts';
import { serviceAccountResource } from './core/service-account.ts';
import {
  mutatingAdmissionPolicyBindingResource,
  mutatingAdmissionPolicyResource,
} from './admissionregistration/mutating-admission-policy.ts';
import {
  validatingAdmissionPolicyBindingResource,
  validatingAdmissionPolicyResource,
} from './admissionregistration/validating-admission-policy.ts';
import { initializerConfigurationResource } from './admissionregistration/initializer-configuration.ts';
import { mutatingWebhookConfigurationResource } from './admissionregistration/mutating-webhook-configuration.ts';
import { validatingWebhookConfigurationResource } from './admissionregistration/validating-webhook-configuration.ts';
import { customResourceDefinitionResource } from './apiextensions/custom-resource-definition.ts';
import { apiServiceResource } from './apiregistration/api-service.ts';
import { controllerRevisionResource } from './apps/controller-revision.ts';
import { daemonSetResource } from './apps/daemon-set.ts';
import { deploymentResource } from './apps/deployment.ts';
import { replicaSetResource } from './apps/replica-set.ts';
import { statefulSetResource } from './apps/stateful-set.ts';
import { selfSubjectReviewResource } from './authentication/self-subject-review.ts';
import { tokenReviewResource } from './authentication/token-review.ts';
import { localSubjectAccessReviewResource } from './authorization/local-subject-access-review.ts';
import { selfSubjectAccessReviewResource } from './authorization/self-subject-access-review.ts';
import { selfSubjectRulesReviewResource } from './authorization/self-subject-rules-review.ts';
import { subjectAccessReviewResource } from './authorization/subject-access-review.ts';
import { horizontalPodAutoscalerResource } from './autoscaling/horizontal-pod-autoscaler.ts';
import { v1HorizontalPodAutoscalerResource } from './autoscaling/horizontal-pod-autoscaler-v1.ts';
import { cronJobResource } from './batch/cron-job.ts';
import { jobResource } from './batch/job.ts';
import { certificateSigningRequestResource } from './certificates/certificate-signing-request.ts';
import { clusterTrustBundleResource } from './certificates/cluster-trust-bundle.ts';
import { storageVersionMigrationResource } from './storagemigration/storage-version-migration.ts';
import { podCertificateRequestResource } from './certificates/pod-certificate-request.ts';
import { leaseResource } from './coordination/lease.ts';
import { endpointSliceResource } from './discovery/endpoint-slice.ts';
import { eventsV1EventResource } from './events/event.ts';
import { flowSchemaResource } from './flowcontrol/flow-schema.ts';
import { priorityLevelConfigurationResource } from './flowcontrol/priority-level-configuration.ts';
import { ingressResource } from './networking/ingress.ts';
import { ingressClassResource } from './networking/ingress-class.ts';
import { ipAddressResource } from './networking/ip-address.ts';
import { networkPolicyResource } from './networking/network-policy.ts';
import { serviceCidrResource } from './networking/service-cidr.ts';
import { runtimeClassResource } from './node/runtime-class.ts';
import { podDisruptionBudgetResource } from './policy/pod-disruption-budget.ts';
import { clusterRoleResource } from './rbac/cluster-role.ts';
import { clusterRoleBindingResource } from './rbac/cluster-role-binding.ts';
import { roleResource } from './rbac/role.ts';
import { roleBindingResource } from './rbac/role-binding.ts';
import { deviceClassResource } from './resource/device-class.ts';
import { resourceClaimResource } from './resource/resource-claim.ts';
import { resourceClaimTemplateResource } from './resource/resource-claim-template.ts';
import { resourceSliceResource } from './resource/resource-slice.ts';
import { priorityClassResource } from './scheduling/priority-class.ts';
import { csiDriverResource } from './storage/csi-driver.ts';
import { csiNodeResource } from './storage/csi-node.ts';
import { csiStorageCapacityResource } from './storage/csi-storage-capacity.ts';
import { storageClassResource } from './storage/storage-class.ts';
import { volumeAttachmentResource } from './storage/volume-attachment.ts';
import { volumeAttributesClassResource } from './storage/volume-attributes-class.ts';

/** Every kind the API server serves, by group and name; the core group comes first. */
export const allResources: readonly ResourceDefinition[] = [
  bindingResource,
  configMapResource,
  endpointsResource,
  eventResource,
  limitRangeResource,
  namespaceResource,
  nodeResource,
  persistentVolumeResource,
  persistentVolumeClaimResource,
  podResource,
  podTemplateResource,
  replicationControllerResource,
  resourceQuotaResource,
  secretResource,
  serviceResource,
  serviceAccountResource,
  initializerConfigurationResource,
  mutatingWebhookConfigurationResource,
  validatingWebhookConfigurationResource,
  validatingAdmissionPolicyResource,
  validatingAdmissionPolicyBindingResource,
  mutatingAdmissionPolicyResource,
  mutatingAdmissionPolicyBindingResource,
  customResourceDefinitionResource,
  apiServiceResource,
  controllerRevisionResource,
  daemonSetResource,
  deploymentResource,
  replicaSetResource,
  statefulSetResource,
  selfSubjectReviewResource,
  tokenReviewResource,
  localSubjectAccessReviewResource,
  selfSubjectAccessReviewResource,
  selfSubjectRulesReviewResource,
  subjectAccessReviewResource,
  // Clients prefer the version that comes first.
  horizontalPodAutoscalerResource,
  v1HorizontalPodAutoscalerResource,
  cronJobResource,
  jobResource,
  certificateSigningRequestResource,
  clusterTrustBundleResource,
  podCertificateRequestResource,
  leaseResource,
  endpointSliceResource,
  eventsV1EventResource,
  flowSchemaResource,
  priorityLevelConfigurationResource,
  ingressResource,
  ingressClassResource,
  ipAddressResource,
  networkPolicyResource,
  serviceCidrResource,
  runtimeClassResource,
  podDisruptionBudgetResource,
  clusterRoleResource,
  clusterRoleBindingResource,
  roleResource,
  roleBindingResource,
  deviceClassResource,
  resourceClaimResource,
  resourceClaimTemplateResource,
  resourceSliceResource,
  priorityClassResource,
  csiDriverResource,
  csiNodeResource,
  csiStorageCapacityResource,
  storageClassResource,
  volumeAttachmentResource,
  volumeAttributesClassResource,
  storageVersionMigrationResource,
];
