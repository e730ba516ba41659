import type { ResourceType } from '../../../api/client/resource-type.ts';
import {
  clusterTrustBundles,
  podCertificateRequests,
  storageVersionMigrations,
} from '../../../api/client/resource-types.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';
import { findTypeWarnings } from '../../cel/type-warnings.ts';
import type { CheckedKind } from '../../cel/type-warnings.ts';
import type { Definitions } from '../../model/definitions.ts';
import { createAdmissionPolicyStatusController } from '../../controllers/admission-policy-status/admission-policy-status-controller.ts';
import { createAttachDetachController } from '../../controllers/attach-detach/attach-detach-controller.ts';
import { createBootstrapSigner } from '../../controllers/bootstrap-tokens/bootstrap-signer.ts';
import { createTokenCleaner } from '../../controllers/bootstrap-tokens/token-cleaner.ts';
import { createCertificateApprover } from '../../controllers/certificate-requests/certificate-approver.ts';
import { createCertificateCleaner } from '../../controllers/certificate-requests/certificate-cleaner.ts';
import { createCertificateSigner } from '../../controllers/certificate-requests/certificate-signer.ts';
import { createClusterTrustBundlePublisher } from '../../controllers/cluster-trust-bundle/cluster-trust-bundle-publisher.ts';
import { createCronJobController } from '../../controllers/cron-job/cron-job-controller.ts';
import { createDaemonSetController } from '../../controllers/daemon-set/daemon-set-controller.ts';
import { createDeploymentController } from '../../controllers/deployment/deployment-controller.ts';
import { createDeviceTaintEvictionController } from '../../controllers/device-taint-eviction/device-taint-eviction-controller.ts';
import { createDisruptionController } from '../../controllers/disruption/disruption-controller.ts';
import { createEndpointSliceController } from '../../controllers/endpoint-slice/endpoint-slice-controller.ts';
import { createEndpointSliceMirroringController } from '../../controllers/endpoint-slice-mirroring/endpoint-slice-mirroring-controller.ts';
import { createEndpointsController } from '../../controllers/endpoints/endpoints-controller.ts';
import { createEphemeralVolumeController } from '../../controllers/ephemeral-volume/ephemeral-volume-controller.ts';
import { createFlowSchemaStatusController } from '../../controllers/flow-schema-status/flow-schema-status-controller.ts';
import { createGarbageCollector } from '../../controllers/garbage-collector/garbage-collector.ts';
import { createApiMetrics } from '../../controllers/horizontal-pod-autoscaler/api-metrics.ts';
import { createHorizontalPodAutoscalerController } from '../../controllers/horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts';
import { createJobController } from '../../controllers/job/job-controller.ts';
import { createLegacyTokenCleaner } from '../../controllers/legacy-token-cleaner/legacy-token-cleaner.ts';
import { createNamespaceController } from '../../controllers/namespace/namespace-controller.ts';
import { createNodeIpamController } from '../../controllers/node-ipam/node-ipam-controller.ts';
import { createNodeLifecycleController } from '../../controllers/node-lifecycle/node-lifecycle-controller.ts';
import { createClaimProtectionController } from '../../controllers/persistent-volume-claim-protection/persistent-volume-claim-protection-controller.ts';
import { createVolumeProtectionController } from '../../controllers/persistent-volume-protection/persistent-volume-protection-controller.ts';
import { createPersistentVolumeController } from '../../controllers/persistent-volume/persistent-volume-controller.ts';
import { createPodGarbageCollector } from '../../controllers/pod-garbage-collector/pod-garbage-collector.ts';
import { createPodCertificateCleaner } from '../../controllers/pod-certificate-requests/pod-certificate-cleaner.ts';
import { createReplicationController } from '../../controllers/replica-set/replication-controller.ts';
import { createReplicaSetController } from '../../controllers/replica-set/replica-set-controller.ts';
import { createResourceClaimController } from '../../controllers/resource-claim/resource-claim-controller.ts';
import { createResourceQuotaController } from '../../controllers/resource-quota/resource-quota-controller.ts';
import { createRootCaPublisher } from '../../controllers/root-ca/root-ca-publisher.ts';
import { createServiceAccountTokenController } from '../../controllers/service-account-token/service-account-token-controller.ts';
import type { TokenControllerOptions } from '../../controllers/service-account-token/service-account-token-controller.ts';
import { createServiceAccountController } from '../../controllers/service-account/service-account-controller.ts';
import { createServiceCidrController } from '../../controllers/service-cidr/service-cidr-controller.ts';
import { createStatefulSetController } from '../../controllers/stateful-set/stateful-set-controller.ts';
import { createStorageVersionMigrator } from '../../controllers/storage-version-migrator/storage-version-migrator.ts';
import { createTaintEvictionController } from '../../controllers/taint-eviction/taint-eviction-controller.ts';
import { createTtlAfterFinishedController } from '../../controllers/ttl-after-finished/ttl-after-finished-controller.ts';
import { createAttributesClassProtectionController } from '../../controllers/volume-attributes-class-protection/volume-attributes-class-protection-controller.ts';
import { createVolumeExpandController } from '../../controllers/volume-expand/volume-expand-controller.ts';
import { allResources } from '../../resources/all.ts';
import type { AutoscalerMetrics } from '../../controller-runtime/autoscaler-metrics.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import type { ClaimMetrics } from '../../controller-runtime/claim-metrics.ts';
import type { CertificateTools } from './certificate-tools.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';

/** Dependencies of single controllers, in addition to the common ones. */
export interface ClusterControllerOptions extends ControllerOptions {
  /** PEM of the cluster's authority. */
  readonly rootCa: string;
  /** Stored kinds that can be deleted, without events, which expire. */
  readonly kept: readonly ResourceType[];
  /** Stored kinds with the verbs list, update and patch, in their preferred versions, and the kinds without them. */
  readonly migratable: { readonly types: readonly ResourceType[]; readonly unwritable: readonly ResourceType[] };
  readonly inNamespaces: readonly ResourceType[];
  readonly customKinds: CustomKinds;
  readonly definitions: Definitions;
  readonly certificates: CertificateTools;
  readonly claimMetrics: ClaimMetrics;
  readonly autoscalerMetrics: AutoscalerMetrics;
  readonly otherApis: OtherApis;
  readonly signLegacyToken: TokenControllerOptions['signLegacyToken'];
  readonly settings: Pick<
    ControlPlaneOptions,
    | 'legacyTokenCleanUpMs'
    | 'nodeMonitorGraceMs'
    | 'nodeStartupGraceMs'
    | 'terminatedPodThreshold'
    | 'autoscaler'
    | 'nodeRanges'
  >;
}

export interface ControllerEntry {
  /** The name in `--controllers`, as in kube-controller-manager. */
  readonly name: string;
  /**
   * The service account in `kube-system`, with the rights of upstream's default policy. If it is absent, the controller
   * acts as the controller manager.
   */
  readonly account?: string;
  /** Whether upstream runs it in its API server, so that it acts as the API server. */
  readonly ofServer?: boolean;
  /** A kind that is not always served. Without it the controller is not started. */
  readonly needs?: ResourceType;
  /** A required setting. Without it the controller is not started. */
  readonly needsSetting?: keyof ClusterControllerOptions['settings'];
  /** Whether it also sees uninitialized objects. */
  readonly seesUninitialized?: boolean;
  readonly create: (options: ClusterControllerOptions) => Controller;
}

const checkedKinds = allResources.map(({ type, schema }) => ({ ...type, schema }));

const customTypes = ({ all }: Definitions): readonly CheckedKind[] =>
  all.flatMap(({ type, openApi }) => (openApi === undefined ? [] : [{ ...type, custom: () => openApi(3) }]));

const CERTIFICATES = 'certificate-controller';

/** Every controller, in the order of start. */
export const controllersTable: readonly ControllerEntry[] = [
  { name: 'serviceaccount-controller', account: 'service-account-controller', create: createServiceAccountController },
  { name: 'serviceaccount-token-controller', create: createServiceAccountTokenController },
  {
    name: 'legacy-serviceaccount-token-cleaner-controller',
    account: 'legacy-service-account-token-cleaner',
    create: (options) => createLegacyTokenCleaner({ ...options, cleanUpMs: options.settings.legacyTokenCleanUpMs }),
  },
  {
    name: 'validatingadmissionpolicy-status-controller',
    account: 'validatingadmissionpolicy-status-controller',
    create: (options) =>
      createAdmissionPolicyStatusController({
        ...options,
        warningsOf: (policy) => findTypeWarnings(policy, [...checkedKinds, ...customTypes(options.definitions)]),
      }),
  },
  {
    name: 'root-ca-certificate-publisher-controller',
    account: 'root-ca-cert-publisher',
    create: createRootCaPublisher,
  },
  {
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    account: 'kube-apiserver-serving-clustertrustbundle-publisher',
    needs: clusterTrustBundles,
    create: createClusterTrustBundlePublisher,
  },
  {
    name: 'namespace-controller',
    account: 'namespace-controller',
    create: (options) => createNamespaceController({ ...options, types: options.inNamespaces }),
  },
  {
    name: 'node-ipam-controller',
    account: 'node-controller',
    needsSetting: 'nodeRanges',
    create: (options) =>
      createNodeIpamController({ ...options, ranges: options.settings.nodeRanges ?? { clusters: [], excluded: [] } }),
  },
  {
    name: 'node-lifecycle-controller',
    account: 'node-controller',
    create: (options) =>
      createNodeLifecycleController({
        ...options,
        graceMs: options.settings.nodeMonitorGraceMs,
        startupGraceMs: options.settings.nodeStartupGraceMs,
      }),
  },
  { name: 'taint-eviction-controller', account: 'node-controller', create: createTaintEvictionController },
  {
    name: 'device-taint-eviction-controller',
    account: 'device-taint-eviction-controller',
    create: createDeviceTaintEvictionController,
  },
  {
    name: 'pod-garbage-collector-controller',
    account: 'pod-garbage-collector',
    create: (options) =>
      createPodGarbageCollector({ ...options, terminatedThreshold: options.settings.terminatedPodThreshold }),
  },
  { name: 'replicaset-controller', account: 'replicaset-controller', create: createReplicaSetController },
  {
    name: 'replicationcontroller-controller',
    account: 'replication-controller',
    create: createReplicationController,
  },
  { name: 'deployment-controller', account: 'deployment-controller', create: createDeploymentController },
  { name: 'daemonset-controller', account: 'daemon-set-controller', create: createDaemonSetController },
  { name: 'statefulset-controller', account: 'statefulset-controller', create: createStatefulSetController },
  { name: 'job-controller', account: 'job-controller', create: createJobController },
  { name: 'cronjob-controller', account: 'cronjob-controller', create: createCronJobController },
  {
    name: 'horizontal-pod-autoscaler-controller',
    account: 'horizontal-pod-autoscaler',
    create: (options) =>
      createHorizontalPodAutoscalerController({
        ...options,
        // A scale is a subresource of a served version.
        types: () => [...options.kept, ...options.customKinds.list().flatMap(({ served }) => served ?? [])],
        metrics: createApiMetrics({
          client: options.client,
          others: options.otherApis,
          types: () => [...options.kept, ...options.customKinds.list().map(({ type }) => type)],
        }),
        settings: options.settings.autoscaler,
      }),
  },
  {
    name: 'ttl-after-finished-controller',
    account: 'ttl-after-finished-controller',
    create: createTtlAfterFinishedController,
  },
  {
    name: 'disruption-controller',
    account: 'disruption-controller',
    create: (options) => createDisruptionController({ ...options, types: options.kept }),
  },
  { name: 'endpointslice-controller', account: 'endpointslice-controller', create: createEndpointSliceController },
  {
    name: 'endpointslice-mirroring-controller',
    account: 'endpointslicemirroring-controller',
    create: createEndpointSliceMirroringController,
  },
  { name: 'flow-schema-status-controller', ofServer: true, create: createFlowSchemaStatusController },
  { name: 'service-cidr-controller', account: 'service-cidrs-controller', create: createServiceCidrController },
  { name: 'endpoints-controller', account: 'endpoint-controller', create: createEndpointsController },
  {
    name: 'persistentvolume-binder-controller',
    account: 'persistent-volume-binder',
    create: createPersistentVolumeController,
  },
  {
    name: 'persistentvolume-attach-detach-controller',
    account: 'attachdetach-controller',
    create: createAttachDetachController,
  },
  {
    name: 'persistentvolume-expander-controller',
    account: 'expand-controller',
    create: createVolumeExpandController,
  },
  {
    name: 'ephemeral-volume-controller',
    account: 'ephemeral-volume-controller',
    create: createEphemeralVolumeController,
  },
  {
    name: 'persistentvolumeclaim-protection-controller',
    account: 'pvc-protection-controller',
    create: createClaimProtectionController,
  },
  {
    name: 'persistentvolume-protection-controller',
    account: 'pv-protection-controller',
    create: createVolumeProtectionController,
  },
  {
    name: 'volumeattributesclass-protection-controller',
    account: 'volumeattributesclass-protection-controller',
    create: createAttributesClassProtectionController,
  },
  {
    name: 'certificatesigningrequest-approving-controller',
    account: CERTIFICATES,
    create: (options) => createCertificateApprover({ ...options, ...options.certificates }),
  },
  {
    name: 'certificatesigningrequest-signing-controller',
    account: CERTIFICATES,
    create: (options) => createCertificateSigner({ ...options, ...options.certificates }),
  },
  {
    name: 'certificatesigningrequest-cleaner-controller',
    account: CERTIFICATES,
    create: (options) => createCertificateCleaner({ ...options, ...options.certificates }),
  },
  {
    name: 'podcertificaterequest-cleaner-controller',
    account: 'podcertificaterequestcleaner',
    needs: podCertificateRequests,
    create: createPodCertificateCleaner,
  },
  {
    name: 'storage-version-migrator-controller',
    account: 'storage-version-migrator-controller',
    needs: storageVersionMigrations,
    create: (options) => createStorageVersionMigrator({ ...options, ...options.migratable }),
  },
  { name: 'resourceclaim-controller', account: 'resource-claim-controller', create: createResourceClaimController },
  {
    name: 'resourcequota-controller',
    account: 'resourcequota-controller',
    create: (options) => createResourceQuotaController({ ...options, types: options.inNamespaces }),
  },
  { name: 'bootstrap-signer-controller', account: 'bootstrap-signer', create: createBootstrapSigner },
  { name: 'token-cleaner-controller', account: 'token-cleaner', create: createTokenCleaner },
  {
    name: 'garbage-collector-controller',
    account: 'generic-garbage-collector',
    // A dependent that stays uninitialized must also be deleted with its owner.
    seesUninitialized: true,
    create: (options) => createGarbageCollector({ ...options, types: options.kept }),
  },
];
