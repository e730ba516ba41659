/** One constant per kind, which callers pass to an `ApiClient`. Sorted by group, then name. */
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../admissionregistration/mutating-admission-policy.ts';
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../admissionregistration/validating-admission-policy.ts';
import type { InitializerConfiguration } from '../admissionregistration/initializer-configuration.ts';
import type { MutatingWebhookConfiguration } from '../admissionregistration/mutating-webhook-configuration.ts';
import type { ValidatingWebhookConfiguration } from '../admissionregistration/validating-webhook-configuration.ts';
import type { APIService } from '../apiregistration/api-service.ts';
import type { CustomResourceDefinition } from '../apiextensions/custom-resource-definition.ts';
import type { ControllerRevision } from '../apps/controller-revision.ts';
import type { DaemonSet } from '../apps/daemon-set.ts';
import type { Deployment } from '../apps/deployment.ts';
import type { ReplicaSet } from '../apps/replica-set.ts';
import type { StatefulSet } from '../apps/stateful-set.ts';
import type { SelfSubjectReview } from '../authentication/self-subject-review.ts';
import type { TokenReview } from '../authentication/token-review.ts';
import type { LocalSubjectAccessReview } from '../authorization/local-subject-access-review.ts';
import type { SelfSubjectAccessReview } from '../authorization/self-subject-access-review.ts';
import type { SelfSubjectRulesReview } from '../authorization/self-subject-rules-review.ts';
import type { SubjectAccessReview } from '../authorization/subject-access-review.ts';
import type { HorizontalPodAutoscaler as V1HorizontalPodAutoscaler } from '../autoscaling/horizontal-pod-autoscaler-v1.ts';
import type { HorizontalPodAutoscaler } from '../autoscaling/horizontal-pod-autoscaler.ts';
import type { CronJob } from '../batch/cron-job.ts';
import type { Job } from '../batch/job.ts';
import type { CertificateSigningRequest } from '../certificates/certificate-signing-request.ts';
import type { ClusterTrustBundle } from '../certificates/cluster-trust-bundle.ts';
import type { StorageVersionMigration } from '../storagemigration/storage-version-migration.ts';
import type { PodCertificateRequest } from '../certificates/pod-certificate-request.ts';
import type { Lease } from '../coordination/lease.ts';
import type { Binding } from '../core/binding.ts';
import type { ComponentStatus } from '../core/component-status.ts';
import type { ConfigMap } from '../core/config-map.ts';
import type { Endpoints } from '../core/endpoints.ts';
import type { Event } from '../core/event.ts';
import type { LimitRange } from '../core/limit-range.ts';
import type { Namespace } from '../core/namespace.ts';
import type { Node } from '../core/node.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../core/persistent-volume.ts';
import type { PodTemplate } from '../core/pod-template.ts';
import type { Pod } from '../core/pod.ts';
import type { ReplicationController } from '../core/replication-controller.ts';
import type { ResourceQuota } from '../core/resource-quota.ts';
import type { Secret } from '../core/secret.ts';
import type { ServiceAccount } from '../core/service-account.ts';
import type { Service } from '../core/service.ts';
import type { EndpointSlice } from '../discovery/endpoint-slice.ts';
import type { Event as EventsV1Event } from '../events/event.ts';
import type { FlowSchema } from '../flowcontrol/flow-schema.ts';
import type { PriorityLevelConfiguration } from '../flowcontrol/priority-level-configuration.ts';
import type { NodeMetrics, PodMetrics } from '../metrics/usage-metrics.ts';
import type { Ingress } from '../networking/ingress.ts';
import type { IngressClass } from '../networking/ingress-class.ts';
import type { IPAddress } from '../networking/ip-address.ts';
import type { NetworkPolicy } from '../networking/network-policy.ts';
import type { ServiceCIDR } from '../networking/service-cidr.ts';
import type { RuntimeClass } from '../node/runtime-class.ts';
import type { PodDisruptionBudget } from '../policy/pod-disruption-budget.ts';
import type { ClusterRoleBinding } from '../rbac/cluster-role-binding.ts';
import type { ClusterRole } from '../rbac/cluster-role.ts';
import type { RoleBinding } from '../rbac/role-binding.ts';
import type { Role } from '../rbac/role.ts';
import type { DeviceClass } from '../resource/device-class.ts';
import type { ResourceClaimTemplate } from '../resource/resource-claim-template.ts';
import type { ResourceClaim } from '../resource/resource-claim.ts';
import type { ResourceSlice } from '../resource/resource-slice.ts';
import type { PriorityClass } from '../scheduling/priority-class.ts';
import type { CSIDriver } from '../storage/csi-driver.ts';
import type { CSINode } from '../storage/csi-node.ts';
import type { CSIStorageCapacity } from '../storage/csi-storage-capacity.ts';
import type { StorageClass } from '../storage/storage-class.ts';
import type { VolumeAttachment } from '../storage/volume-attachment.ts';
import type { VolumeAttributesClass } from '../storage/volume-attributes-class.ts';
import type { ApiObject, ResourceType } from './resource-type.ts';

const namespaced = <T extends ApiObject>(apiVersion: string, kind: string, plural: string): ResourceType<T> =>
  typeOf(apiVersion, kind, plural, true);
const clusterScoped = <T extends ApiObject>(apiVersion: string, kind: string, plural: string): ResourceType<T> =>
  typeOf(apiVersion, kind, plural, false);

function typeOf(apiVersion: string, kind: string, plural: string, isNamespaced: boolean): ResourceType<never> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return { group, version, kind, plural, namespaced: isNamespaced };
}

export const componentStatuses = clusterScoped<ComponentStatus>('v1', 'ComponentStatus', 'componentstatuses');
export const configMaps = namespaced<ConfigMap>('v1', 'ConfigMap', 'configmaps');
export const endpoints = namespaced<Endpoints>('v1', 'Endpoints', 'endpoints');
export const events = namespaced<Event>('v1', 'Event', 'events');
export const limitRanges = namespaced<LimitRange>('v1', 'LimitRange', 'limitranges');
export const namespaces = clusterScoped<Namespace>('v1', 'Namespace', 'namespaces');
export const nodes = clusterScoped<Node>('v1', 'Node', 'nodes');
export const persistentVolumes = clusterScoped<PersistentVolume>('v1', 'PersistentVolume', 'persistentvolumes');
export const persistentVolumeClaims = namespaced<PersistentVolumeClaim>(
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
);
export const bindings = namespaced<Binding>('v1', 'Binding', 'bindings');
export const pods = namespaced<Pod>('v1', 'Pod', 'pods');
export const podTemplates = namespaced<PodTemplate>('v1', 'PodTemplate', 'podtemplates');
export const replicationControllers = namespaced<ReplicationController>(
  'v1',
  'ReplicationController',
  'replicationcontrollers',
);
export const resourceQuotas = namespaced<ResourceQuota>('v1', 'ResourceQuota', 'resourcequotas');
export const secrets = namespaced<Secret>('v1', 'Secret', 'secrets');
export const services = namespaced<Service>('v1', 'Service', 'services');
export const serviceAccounts = namespaced<ServiceAccount>('v1', 'ServiceAccount', 'serviceaccounts');
export const initializerConfigurations = clusterScoped<InitializerConfiguration>(
  'admissionregistration.k8s.io/v1alpha1',
  'InitializerConfiguration',
  'initializerconfigurations',
);
export const mutatingWebhookConfigurations = clusterScoped<MutatingWebhookConfiguration>(
  'admissionregistration.k8s.io/v1',
  'MutatingWebhookConfiguration',
  'mutatingwebhookconfigurations',
);
export const validatingWebhookConfigurations = clusterScoped<ValidatingWebhookConfiguration>(
  'admissionregistration.k8s.io/v1',
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
);
export const mutatingAdmissionPolicies = clusterScoped<MutatingAdmissionPolicy>(
  'admissionregistration.k8s.io/v1',
  'MutatingAdmissionPolicy',
  'mutatingadmissionpolicies',
);
export const mutatingAdmissionPolicyBindings = clusterScoped<MutatingAdmissionPolicyBinding>(
  'admissionregistration.k8s.io/v1',
  'MutatingAdmissionPolicyBinding',
  'mutatingadmissionpolicybindings',
);
export const validatingAdmissionPolicies = clusterScoped<ValidatingAdmissionPolicy>(
  'admissionregistration.k8s.io/v1',
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
);
export const validatingAdmissionPolicyBindings = clusterScoped<ValidatingAdmissionPolicyBinding>(
  'admissionregistration.k8s.io/v1',
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
);
export const apiServices = clusterScoped<APIService>('apiregistration.k8s.io/v1', 'APIService', 'apiservices');
export const customResourceDefinitions = clusterScoped<CustomResourceDefinition>(
  'apiextensions.k8s.io/v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
);
export const controllerRevisions = namespaced<ControllerRevision>(
  'apps/v1',
  'ControllerRevision',
  'controllerrevisions',
);
export const daemonSets = namespaced<DaemonSet>('apps/v1', 'DaemonSet', 'daemonsets');
export const deployments = namespaced<Deployment>('apps/v1', 'Deployment', 'deployments');
export const replicaSets = namespaced<ReplicaSet>('apps/v1', 'ReplicaSet', 'replicasets');
export const statefulSets = namespaced<StatefulSet>('apps/v1', 'StatefulSet', 'statefulsets');
export const selfSubjectReviews = clusterScoped<SelfSubjectReview>(
  'authentication.k8s.io/v1',
  'SelfSubjectReview',
  'selfsubjectreviews',
);
export const tokenReviews = clusterScoped<TokenReview>('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews');
export const localSubjectAccessReviews = namespaced<LocalSubjectAccessReview>(
  'authorization.k8s.io/v1',
  'LocalSubjectAccessReview',
  'localsubjectaccessreviews',
);
export const selfSubjectAccessReviews = clusterScoped<SelfSubjectAccessReview>(
  'authorization.k8s.io/v1',
  'SelfSubjectAccessReview',
  'selfsubjectaccessreviews',
);
export const selfSubjectRulesReviews = clusterScoped<SelfSubjectRulesReview>(
  'authorization.k8s.io/v1',
  'SelfSubjectRulesReview',
  'selfsubjectrulesreviews',
);
export const subjectAccessReviews = clusterScoped<SubjectAccessReview>(
  'authorization.k8s.io/v1',
  'SubjectAccessReview',
  'subjectaccessreviews',
);
export const horizontalPodAutoscalers = namespaced<HorizontalPodAutoscaler>(
  'autoscaling/v2',
  'HorizontalPodAutoscaler',
  'horizontalpodautoscalers',
);
export const v1HorizontalPodAutoscalers = namespaced<V1HorizontalPodAutoscaler>(
  'autoscaling/v1',
  'HorizontalPodAutoscaler',
  'horizontalpodautoscalers',
);
export const cronJobs = namespaced<CronJob>('batch/v1', 'CronJob', 'cronjobs');
export const jobs = namespaced<Job>('batch/v1', 'Job', 'jobs');
export const certificateSigningRequests = clusterScoped<CertificateSigningRequest>(
  'certificates.k8s.io/v1',
  'CertificateSigningRequest',
  'certificatesigningrequests',
);
export const clusterTrustBundles = clusterScoped<ClusterTrustBundle>(
  'certificates.k8s.io/v1beta1',
  'ClusterTrustBundle',
  'clustertrustbundles',
);
export const podCertificateRequests = namespaced<PodCertificateRequest>(
  'certificates.k8s.io/v1beta1',
  'PodCertificateRequest',
  'podcertificaterequests',
);
export const storageVersionMigrations = clusterScoped<StorageVersionMigration>(
  'storagemigration.k8s.io/v1beta1',
  'StorageVersionMigration',
  'storageversionmigrations',
);
export const leases = namespaced<Lease>('coordination.k8s.io/v1', 'Lease', 'leases');
export const endpointSlices = namespaced<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices');
export const eventsV1Events = namespaced<EventsV1Event>('events.k8s.io/v1', 'Event', 'events');
export const flowSchemas = clusterScoped<FlowSchema>('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'flowschemas');
export const priorityLevelConfigurations = clusterScoped<PriorityLevelConfiguration>(
  'flowcontrol.apiserver.k8s.io/v1',
  'PriorityLevelConfiguration',
  'prioritylevelconfigurations',
);
export const nodeMetrics = clusterScoped<NodeMetrics>('metrics.k8s.io/v1beta1', 'NodeMetrics', 'nodes');
export const podMetrics = namespaced<PodMetrics>('metrics.k8s.io/v1beta1', 'PodMetrics', 'pods');
export const ingresses = namespaced<Ingress>('networking.k8s.io/v1', 'Ingress', 'ingresses');
export const ingressClasses = clusterScoped<IngressClass>('networking.k8s.io/v1', 'IngressClass', 'ingressclasses');
export const ipAddresses = clusterScoped<IPAddress>('networking.k8s.io/v1', 'IPAddress', 'ipaddresses');
export const networkPolicies = namespaced<NetworkPolicy>('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies');
export const serviceCidrs = clusterScoped<ServiceCIDR>('networking.k8s.io/v1', 'ServiceCIDR', 'servicecidrs');
export const runtimeClasses = clusterScoped<RuntimeClass>('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses');
export const podDisruptionBudgets = namespaced<PodDisruptionBudget>(
  'policy/v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
);
export const clusterRoles = clusterScoped<ClusterRole>('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles');
export const clusterRoleBindings = clusterScoped<ClusterRoleBinding>(
  'rbac.authorization.k8s.io/v1',
  'ClusterRoleBinding',
  'clusterrolebindings',
);
export const roles = namespaced<Role>('rbac.authorization.k8s.io/v1', 'Role', 'roles');
export const roleBindings = namespaced<RoleBinding>('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings');
export const deviceClasses = clusterScoped<DeviceClass>('resource.k8s.io/v1', 'DeviceClass', 'deviceclasses');
export const resourceClaims = namespaced<ResourceClaim>('resource.k8s.io/v1', 'ResourceClaim', 'resourceclaims');
export const resourceClaimTemplates = namespaced<ResourceClaimTemplate>(
  'resource.k8s.io/v1',
  'ResourceClaimTemplate',
  'resourceclaimtemplates',
);
export const resourceSlices = clusterScoped<ResourceSlice>('resource.k8s.io/v1', 'ResourceSlice', 'resourceslices');
export const priorityClasses = clusterScoped<PriorityClass>('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses');
export const csiDrivers = clusterScoped<CSIDriver>('storage.k8s.io/v1', 'CSIDriver', 'csidrivers');
export const csiNodes = clusterScoped<CSINode>('storage.k8s.io/v1', 'CSINode', 'csinodes');
export const csiStorageCapacities = namespaced<CSIStorageCapacity>(
  'storage.k8s.io/v1',
  'CSIStorageCapacity',
  'csistoragecapacities',
);
export const storageClasses = clusterScoped<StorageClass>('storage.k8s.io/v1', 'StorageClass', 'storageclasses');
export const volumeAttachments = clusterScoped<VolumeAttachment>(
  'storage.k8s.io/v1',
  'VolumeAttachment',
  'volumeattachments',
);
export const volumeAttributesClasses = clusterScoped<VolumeAttributesClass>(
  'storage.k8s.io/v1',
  'VolumeAttributesClass',
  'volumeattributesclasses',
);
