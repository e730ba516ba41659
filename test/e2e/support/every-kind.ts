// One valid manifest of every kind that is served, as a user of kubectl would write it.
import path from 'node:path';
import { runCommand } from '../../../src/up/commands.ts';

const labels = { app: 'every-kind' };
const meta = (name: string): object => ({ metadata: { name, labels } });
const podSpec = {
  containers: [
    {
      name: 'main',
      image: 'nginx:1',
      ports: [{ containerPort: 80 }],
      resources: { requests: { cpu: '10m', memory: '8Mi' } },
    },
  ],
};
const template = { metadata: { labels }, spec: podSpec };
const selector = { matchLabels: labels };
/** Matches requests that no other test makes. */
const policyMatch = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
  objectSelector: { matchLabels: { nobody: 'has-this' } },
};

const webhook = {
  name: 'check.example.com',
  clientConfig: { url: 'https://127.0.0.1:9/check' },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
  rules: [{ operations: ['CREATE'], apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['things'] }],
};
const deviceRequest = { name: 'gpu', exactly: { deviceClassName: 'any-of-cluster' } };
const subject = { kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' };
const rule = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };

/** A certificate request in PEM and base64; its key is in `folder`. */
export async function certificateRequest(folder: string): Promise<string> {
  const pem = await runCommand([
    'openssl',
    'req',
    '-new',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    path.join(folder, 'request.key'),
    '-subj',
    '/CN=jane',
  ]);
  return Buffer.from(pem).toString('base64');
}

/** The certificate of an unused authority, valid until 2126. */
const authority = `-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUX8X2zu7FdIIHeOoRFItO709jFH0wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjMxNjI4MTFaGA8yMTI2MTAzMDE2Mjgx
MVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEi4
Y+tNt2NoDSTARwgtPWg8ZKXdU/OHZAjBnqgQoXFLOj1LiPD9S0KD36lLKC0rmcLC
ObumpN1KzPDM0cUmLrijUzBRMB0GA1UdDgQWBBSWuSz3QKvfk1PUgtplAhVp0a3Y
gDAfBgNVHSMEGDAWgBSWuSz3QKvfk1PUgtplAhVp0a3YgDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0kAMEYCIQCrTE+y3xHIBo4mZ61EntQDJ5ff8NJr6RE8
zMF2yDypNAIhANimI7EZKY3tUa00JReKOJFQUrr3DjyBPGK5wCKu5zpJ
-----END CERTIFICATE-----
`;

export interface KindManifest {
  /** As kubectl prints it with `-o name`, without the name. */
  readonly resource: string;
  readonly name: string;
  readonly namespaced: boolean;
  readonly manifest: Readonly<Record<string, unknown>>;
}

const inNamespace = (
  resource: string,
  apiVersion: string,
  kind: string,
  content: object,
  name = 'any',
): KindManifest => ({ resource, name, namespaced: true, manifest: { apiVersion, kind, ...meta(name), ...content } });
const inCluster = (
  resource: string,
  apiVersion: string,
  kind: string,
  content: object,
  name = 'any-of-cluster',
): KindManifest => ({ resource, name, namespaced: false, manifest: { apiVersion, kind, ...meta(name), ...content } });

/** One object of each stored kind. `certificateRequest`: PEM in base64; `namespace`: that of the namespaced objects. */
export function everyKind(certificateRequest: string, namespace: string): readonly KindManifest[] {
  return [
    ...kindsOfNamespaces(namespace),
    podCertificateRequest(certificateRequest),
    ...kindsOfCluster(certificateRequest),
  ];
}

/** `certificateRequest`: PEM in base64. */
function podCertificateRequest(certificateRequest: string): KindManifest {
  const pem = Buffer.from(certificateRequest, 'base64').toString();
  return inNamespace(
    'podcertificaterequest.certificates.k8s.io',
    'certificates.k8s.io/v1beta1',
    'PodCertificateRequest',
    {
      spec: {
        signerName: 'example.com/any',
        podName: 'any',
        podUID: 'none',
        serviceAccountName: 'default',
        serviceAccountUID: 'none',
        nodeName: 'none',
        nodeUID: 'none',
        stubPKCS10Request: pem.replaceAll(/-----[A-Z ]+-----|\n/g, ''),
      },
    },
  );
}

const autoscaled = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'missing' }, maxReplicas: 3 };

/** Kinds in versions that are not preferred. */
export const otherVersions: readonly KindManifest[] = [
  inNamespace('horizontalpodautoscaler.autoscaling', 'autoscaling/v1', 'HorizontalPodAutoscaler', { spec: autoscaled }),
];

function kindsOfNamespaces(namespace: string): readonly KindManifest[] {
  return [
    inNamespace('configmap', 'v1', 'ConfigMap', { data: { key: 'value' }, binaryData: { raw: 'AAEC' } }),
    inNamespace('endpoints', 'v1', 'Endpoints', {
      subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ name: 'web', port: 80 }] }],
    }),
    inNamespace('event', 'v1', 'Event', {
      involvedObject: { kind: 'Pod', name: 'any', namespace, apiVersion: 'v1' },
      reason: 'Tried',
      message: 'it was tried',
      type: 'Normal',
      source: { component: 'test' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
    }),
    inNamespace('limitrange', 'v1', 'LimitRange', {
      spec: { limits: [{ type: 'Container', max: { memory: '1Gi' } }] },
    }),
    inNamespace('persistentvolumeclaim', 'v1', 'PersistentVolumeClaim', {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }),
    inNamespace('pod', 'v1', 'Pod', { spec: podSpec }),
    inNamespace('resourcequota', 'v1', 'ResourceQuota', { spec: { hard: { pods: '100' } } }),
    inNamespace('secret', 'v1', 'Secret', { stringData: { password: 'x' } }),
    inNamespace('serviceaccount', 'v1', 'ServiceAccount', {}),
    inNamespace('service', 'v1', 'Service', { spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] } }),
    inNamespace('podtemplate', 'v1', 'PodTemplate', { template }),
    inNamespace('replicationcontroller', 'v1', 'ReplicationController', { spec: { selector: labels, template } }),
    inNamespace('controllerrevision.apps', 'apps/v1', 'ControllerRevision', { revision: 1, data: { any: 'thing' } }),
    inNamespace('daemonset.apps', 'apps/v1', 'DaemonSet', { spec: { selector, template } }),
    inNamespace('deployment.apps', 'apps/v1', 'Deployment', { spec: { replicas: 2, selector, template } }),
    inNamespace('replicaset.apps', 'apps/v1', 'ReplicaSet', { spec: { replicas: 1, selector, template } }),
    inNamespace('statefulset.apps', 'apps/v1', 'StatefulSet', { spec: { serviceName: 'any', selector, template } }),
    inNamespace('horizontalpodautoscaler.autoscaling', 'autoscaling/v2', 'HorizontalPodAutoscaler', {
      spec: autoscaled,
    }),
    inNamespace('cronjob.batch', 'batch/v1', 'CronJob', {
      spec: {
        schedule: '@yearly',
        jobTemplate: { spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } } },
      },
    }),
    inNamespace('job.batch', 'batch/v1', 'Job', {
      spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } },
    }),
    inNamespace('lease.coordination.k8s.io', 'coordination.k8s.io/v1', 'Lease', {
      spec: { holderIdentity: 'me', leaseDurationSeconds: 40 },
    }),
    inNamespace('ingress.networking.k8s.io', 'networking.k8s.io/v1', 'Ingress', {
      spec: { defaultBackend: { service: { name: 'any', port: { number: 80 } } } },
    }),
    inNamespace('networkpolicy.networking.k8s.io', 'networking.k8s.io/v1', 'NetworkPolicy', {
      spec: { podSelector: { matchLabels: labels }, policyTypes: ['Ingress'] },
    }),
    inNamespace('resourceclaim.resource.k8s.io', 'resource.k8s.io/v1', 'ResourceClaim', {
      spec: { devices: { requests: [deviceRequest] } },
    }),
    inNamespace('resourceclaimtemplate.resource.k8s.io', 'resource.k8s.io/v1', 'ResourceClaimTemplate', {
      spec: { spec: { devices: { requests: [deviceRequest] } } },
    }),
    inNamespace('endpointslice.discovery.k8s.io', 'discovery.k8s.io/v1', 'EndpointSlice', {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'] }],
      ports: [{ name: 'web', port: 80, protocol: 'TCP' }],
    }),
    inNamespace(
      'event.events.k8s.io',
      'events.k8s.io/v1',
      'Event',
      {
        regarding: { kind: 'Pod', name: 'any', namespace, apiVersion: 'v1' },
        reason: 'Tried',
        note: 'it was tried',
        type: 'Normal',
        action: 'Trying',
        reportingController: 'example.com/test',
        reportingInstance: 'test-1',
        eventTime: '2026-01-01T00:00:00.000000Z',
      },
      'any-new',
    ),
    inNamespace('csistoragecapacity.storage.k8s.io', 'storage.k8s.io/v1', 'CSIStorageCapacity', {
      storageClassName: 'any-of-cluster',
      capacity: '10Gi',
      nodeTopology: { matchLabels: labels },
    }),
    inNamespace('poddisruptionbudget.policy', 'policy/v1', 'PodDisruptionBudget', {
      spec: { minAvailable: 1, selector },
    }),
    inNamespace('role.rbac.authorization.k8s.io', 'rbac.authorization.k8s.io/v1', 'Role', { rules: [rule] }),
    inNamespace('rolebinding.rbac.authorization.k8s.io', 'rbac.authorization.k8s.io/v1', 'RoleBinding', {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'any' },
      subjects: [subject],
    }),
  ];
}

function kindsOfCluster(certificateRequest: string): readonly KindManifest[] {
  return [
    inCluster('namespace', 'v1', 'Namespace', {}),
    inCluster('node', 'v1', 'Node', { spec: { taints: [{ key: 'away', effect: 'NoSchedule' }] } }),
    inCluster('persistentvolume', 'v1', 'PersistentVolume', {
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/mnt' } },
    }),
    inCluster(
      'initializerconfiguration.admissionregistration.k8s.io',
      'admissionregistration.k8s.io/v1alpha1',
      'InitializerConfiguration',
      {
        initializers: [
          { name: 'a.example.com', rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }] },
        ],
      },
    ),
    inCluster(
      'mutatingwebhookconfiguration.admissionregistration.k8s.io',
      'admissionregistration.k8s.io/v1',
      'MutatingWebhookConfiguration',
      { webhooks: [webhook] },
    ),
    inCluster(
      'validatingwebhookconfiguration.admissionregistration.k8s.io',
      'admissionregistration.k8s.io/v1',
      'ValidatingWebhookConfiguration',
      { webhooks: [webhook] },
    ),
    inCluster(
      'validatingadmissionpolicy.admissionregistration.k8s.io',
      'admissionregistration.k8s.io/v1',
      'ValidatingAdmissionPolicy',
      {
        spec: { matchConstraints: policyMatch, validations: [{ expression: 'true' }] },
      },
    ),
    inCluster(
      'validatingadmissionpolicybinding.admissionregistration.k8s.io',
      'admissionregistration.k8s.io/v1',
      'ValidatingAdmissionPolicyBinding',
      {
        spec: { policyName: 'unknown', validationActions: ['Deny'] },
      },
    ),
    inCluster(
      'mutatingadmissionpolicy.admissionregistration.k8s.io',
      'admissionregistration.k8s.io/v1',
      'MutatingAdmissionPolicy',
      {
        spec: {
          matchConstraints: policyMatch,
          reinvocationPolicy: 'Never',
          mutations: [
            {
              patchType: 'JSONPatch',
              jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/metadata/labels/x"}]' },
            },
          ],
        },
      },
    ),
    inCluster(
      'mutatingadmissionpolicybinding.admissionregistration.k8s.io',
      'admissionregistration.k8s.io/v1',
      'MutatingAdmissionPolicyBinding',
      {
        spec: { policyName: 'unknown' },
      },
    ),
    inCluster(
      'customresourcedefinition.apiextensions.k8s.io',
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      {
        spec: {
          group: 'every-kind.example.com',
          scope: 'Namespaced',
          names: { plural: 'things', kind: 'Thing' },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        },
      },
      'things.every-kind.example.com',
    ),
    inCluster(
      'apiservice.apiregistration.k8s.io',
      'apiregistration.k8s.io/v1',
      'APIService',
      {
        spec: {
          group: 'every-api.example.com',
          version: 'v1',
          service: { namespace: 'default', name: 'every-api' },
          groupPriorityMinimum: 100,
          versionPriority: 10,
        },
      },
      'v1.every-api.example.com',
    ),
    inCluster('certificatesigningrequest.certificates.k8s.io', 'certificates.k8s.io/v1', 'CertificateSigningRequest', {
      spec: { request: certificateRequest, signerName: 'example.com/any', usages: ['client auth'] },
    }),
    inCluster('clustertrustbundle.certificates.k8s.io', 'certificates.k8s.io/v1beta1', 'ClusterTrustBundle', {
      spec: { trustBundle: authority },
    }),
    inCluster(
      'storageversionmigration.storagemigration.k8s.io',
      'storagemigration.k8s.io/v1beta1',
      'StorageVersionMigration',
      { spec: { resource: { group: 'apps', resource: 'deployments' } } },
    ),
    inCluster('flowschema.flowcontrol.apiserver.k8s.io', 'flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', {
      spec: { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 9000 },
    }),
    inCluster(
      'prioritylevelconfiguration.flowcontrol.apiserver.k8s.io',
      'flowcontrol.apiserver.k8s.io/v1',
      'PriorityLevelConfiguration',
      { spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } } },
    ),
    inCluster('ingressclass.networking.k8s.io', 'networking.k8s.io/v1', 'IngressClass', {
      spec: { controller: 'example.com/ingress' },
    }),
    inCluster(
      'ipaddress.networking.k8s.io',
      'networking.k8s.io/v1',
      'IPAddress',
      { spec: { parentRef: { resource: 'services', namespace: 'default', name: 'any' } } },
      '10.77.0.9',
    ),
    inCluster('servicecidr.networking.k8s.io', 'networking.k8s.io/v1', 'ServiceCIDR', {
      spec: { cidrs: ['10.77.0.0/24'] },
    }),
    inCluster('deviceclass.resource.k8s.io', 'resource.k8s.io/v1', 'DeviceClass', { spec: {} }),
    inCluster('resourceslice.resource.k8s.io', 'resource.k8s.io/v1', 'ResourceSlice', {
      spec: {
        driver: 'gpu.example.com',
        nodeName: 'any',
        pool: { name: 'any', generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'gpu-0' }],
      },
    }),
    inCluster('runtimeclass.node.k8s.io', 'node.k8s.io/v1', 'RuntimeClass', { handler: 'runsc' }),
    inCluster('clusterrole.rbac.authorization.k8s.io', 'rbac.authorization.k8s.io/v1', 'ClusterRole', {
      rules: [rule],
    }),
    inCluster('clusterrolebinding.rbac.authorization.k8s.io', 'rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [subject],
    }),
    inCluster('priorityclass.scheduling.k8s.io', 'scheduling.k8s.io/v1', 'PriorityClass', {
      value: 1000,
      description: 'more than most',
    }),
    inCluster(
      'csidriver.storage.k8s.io',
      'storage.k8s.io/v1',
      'CSIDriver',
      { spec: { attachRequired: false } },
      'csi.example.com',
    ),
    inCluster('csinode.storage.k8s.io', 'storage.k8s.io/v1', 'CSINode', {
      spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n1', topologyKeys: [] }] },
    }),
    inCluster('storageclass.storage.k8s.io', 'storage.k8s.io/v1', 'StorageClass', { provisioner: 'csi.example.com' }),
    inCluster('volumeattributesclass.storage.k8s.io', 'storage.k8s.io/v1', 'VolumeAttributesClass', {
      driverName: 'csi.example.com',
      parameters: { iops: '100' },
    }),
    inCluster('volumeattachment.storage.k8s.io', 'storage.k8s.io/v1', 'VolumeAttachment', {
      spec: {
        attacher: 'csi.example.com',
        nodeName: 'any-of-cluster',
        source: { persistentVolumeName: 'any-of-cluster' },
      },
    }),
  ];
}

/** Reviews: the API server answers them and does not store them. */
export const everyReview: readonly Readonly<Record<string, unknown>>[] = [
  { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'nobody.knows.it' } },
  {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  },
  { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } },
  {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: 'jane', resourceAttributes: { verb: 'get', resource: 'pods' } },
  },
  {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'LocalSubjectAccessReview',
    metadata: { namespace: 'default' },
    spec: { user: 'jane', resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } },
  },
];
