/** One constant per kind: what code passes to an `ApiClient` to say which kind it means. In the order of groups, then names. */
import type { MutatingWebhookConfiguration } from '../admissionregistration/mutating-webhook-configuration.ts';
import type { ValidatingWebhookConfiguration } from '../admissionregistration/validating-webhook-configuration.ts';
import type { ControllerRevision } from '../apps/controller-revision.ts';
import type { DaemonSet } from '../apps/daemon-set.ts';
import type { Deployment } from '../apps/deployment.ts';
import type { ReplicaSet } from '../apps/replica-set.ts';
import type { SelfSubjectReview } from '../authentication/self-subject-review.ts';
import type { TokenReview } from '../authentication/token-review.ts';
import type { LocalSubjectAccessReview } from '../authorization/local-subject-access-review.ts';
import type { SelfSubjectAccessReview } from '../authorization/self-subject-access-review.ts';
import type { SelfSubjectRulesReview } from '../authorization/self-subject-rules-review.ts';
import type { SubjectAccessReview } from '../authorization/subject-access-review.ts';
import type { Job } from '../batch/job.ts';
import type { CertificateSigningRequest } from '../certificates/certificate-signing-request.ts';
import type { Lease } from '../coordination/lease.ts';
import type { ConfigMap } from '../core/config-map.ts';
import type { Endpoints } from '../core/endpoints.ts';
import type { Event } from '../core/event.ts';
import type { LimitRange } from '../core/limit-range.ts';
import type { Namespace } from '../core/namespace.ts';
import type { Node } from '../core/node.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../core/persistent-volume.ts';
import type { Pod } from '../core/pod.ts';
import type { ResourceQuota } from '../core/resource-quota.ts';
import type { Secret } from '../core/secret.ts';
import type { ServiceAccount } from '../core/service-account.ts';
import type { Service } from '../core/service.ts';
import type { EndpointSlice } from '../discovery/endpoint-slice.ts';
import type { Event as EventsV1Event } from '../events/event.ts';
import type { NodeMetrics, PodMetrics } from '../metrics/usage-metrics.ts';
import type { RuntimeClass } from '../node/runtime-class.ts';
import type { PodDisruptionBudget } from '../policy/pod-disruption-budget.ts';
import type { ClusterRoleBinding } from '../rbac/cluster-role-binding.ts';
import type { ClusterRole } from '../rbac/cluster-role.ts';
import type { RoleBinding } from '../rbac/role-binding.ts';
import type { Role } from '../rbac/role.ts';
import type { PriorityClass } from '../scheduling/priority-class.ts';
import type { CSIDriver } from '../storage/csi-driver.ts';
import type { CSINode } from '../storage/csi-node.ts';
import type { StorageClass } from '../storage/storage-class.ts';
import type { VolumeAttachment } from '../storage/volume-attachment.ts';
import type { ResourceType } from './resource-type.ts';

export const configMaps: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};
export const endpoints: ResourceType<Endpoints> = {
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  plural: 'endpoints',
  namespaced: true,
};
export const events: ResourceType<Event> = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
};
export const limitRanges: ResourceType<LimitRange> = {
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  plural: 'limitranges',
  namespaced: true,
};
export const namespaces: ResourceType<Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};
export const nodes: ResourceType<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
export const persistentVolumes: ResourceType<PersistentVolume> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
};
export const persistentVolumeClaims: ResourceType<PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
};
export const pods: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
export const resourceQuotas: ResourceType<ResourceQuota> = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
};
export const secrets: ResourceType<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
};
export const services: ResourceType<Service> = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
};
export const serviceAccounts: ResourceType<ServiceAccount> = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};
export const mutatingWebhookConfigurations: ResourceType<MutatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  namespaced: false,
};
export const validatingWebhookConfigurations: ResourceType<ValidatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};
export const controllerRevisions: ResourceType<ControllerRevision> = {
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  namespaced: true,
};
export const daemonSets: ResourceType<DaemonSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  namespaced: true,
};
export const deployments: ResourceType<Deployment> = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};
export const replicaSets: ResourceType<ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  namespaced: true,
};
export const selfSubjectReviews: ResourceType<SelfSubjectReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
};
export const tokenReviews: ResourceType<TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
};
export const localSubjectAccessReviews: ResourceType<LocalSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'LocalSubjectAccessReview',
  plural: 'localsubjectaccessreviews',
  namespaced: true,
};
export const selfSubjectAccessReviews: ResourceType<SelfSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
};
export const selfSubjectRulesReviews: ResourceType<SelfSubjectRulesReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  plural: 'selfsubjectrulesreviews',
  namespaced: false,
};
export const subjectAccessReviews: ResourceType<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};
export const jobs: ResourceType<Job> = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true };
export const certificateSigningRequests: ResourceType<CertificateSigningRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  namespaced: false,
};
export const leases: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};
export const endpointSlices: ResourceType<EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
};
export const eventsV1Events: ResourceType<EventsV1Event> = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
};
export const nodeMetrics: ResourceType<NodeMetrics> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: 'NodeMetrics',
  plural: 'nodes',
  namespaced: false,
};
export const podMetrics: ResourceType<PodMetrics> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: 'PodMetrics',
  plural: 'pods',
  namespaced: true,
};
export const runtimeClasses: ResourceType<RuntimeClass> = {
  group: 'node.k8s.io',
  version: 'v1',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
};
export const podDisruptionBudgets: ResourceType<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
};
export const clusterRoles: ResourceType<ClusterRole> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
};
export const clusterRoleBindings: ResourceType<ClusterRoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
};
export const roles: ResourceType<Role> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'Role',
  plural: 'roles',
  namespaced: true,
};
export const roleBindings: ResourceType<RoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};
export const priorityClasses: ResourceType<PriorityClass> = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  namespaced: false,
};
export const csiDrivers: ResourceType<CSIDriver> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIDriver',
  plural: 'csidrivers',
  namespaced: false,
};
export const csiNodes: ResourceType<CSINode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSINode',
  plural: 'csinodes',
  namespaced: false,
};
export const storageClasses: ResourceType<StorageClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
};
export const volumeAttachments: ResourceType<VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  namespaced: false,
};
