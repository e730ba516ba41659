import { isDeepStrictEqual } from 'node:util';
import { annotations } from '../../api/annotations.ts';
import type { TokenRequest } from '../../api/authentication/token-request.ts';
import {
  certificateSigningRequests,
  csiDrivers,
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podCertificateRequests,
  pods,
  resourceSlices,
  serviceAccounts,
} from '../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../api/core/pod.ts';
import { notFound } from '../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import { checkPodCertificateRequest } from './node-restriction-pod-certificate.ts';
import { nodeNameOf } from '../model/node-identity.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { Authorizer } from '../model/user-info.ts';
import { objectOf, oldObjectOf, refusal } from './attributes.ts';
import { forbiddenLabelChanges } from './node-labels.ts';
import { apiReferenceOf } from './pod-api-references.ts';

export interface NodeRestrictionOptions {
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
  /** The common name in a certificate request (PEM). Throws if the PEM is not a request. */
  readonly readCommonName: (request: string) => string;
}

type Check = (attributes: AdmissionAttributes, node: string, options: NodeRestrictionOptions) => void | Promise<void>;

/**
 * Restricts the writes of a kubelet to its own objects: its node, its lease, the pods bound to it. The Node authorizer
 * restricts its reads. Upstream: NodeRestriction.
 */
export function createNodeRestriction(options: NodeRestrictionOptions): AdmissionPlugin {
  return {
    name: 'NodeRestriction',
    handles: ({ operation, context }) => operation !== 'CONNECT' && nodeNameOf(context.user) !== undefined,
    validate: (attributes) => {
      const { user } = attributes.context;
      const node = nodeNameOf(user);
      if (node === undefined) return undefined;
      if (node === '') throw refusal(attributes, `could not determine node from user ${JSON.stringify(user.name)}`);
      const { group, plural } = attributes.definition.type;
      return checks.get(`${plural}.${group}`)?.(attributes, node, options);
    },
  };
}

const quote = (value: string): string => JSON.stringify(value);

const checkPod: Check = (attributes, node, options) => {
  const { subresource, operation } = attributes;
  if (subresource === 'status') return checkPodStatus(attributes, node, options);
  if (subresource === 'eviction') return checkEviction(attributes, node, options);
  if (subresource !== '')
    throw refusal(
      attributes,
      `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`,
    );
  if (operation === 'CREATE') return checkMirrorPod(attributes, node, options);
  if (operation !== 'DELETE')
    throw refusal(
      attributes,
      `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
  if (podNamed(attributes, options).spec.nodeName !== node)
    throw refusal(attributes, `node ${quote(node)} can only delete pods with spec.nodeName set to itself`);
};

const checkPodStatus: Check = (attributes, node) => {
  if (attributes.operation !== 'UPDATE')
    throw refusal(attributes, `unexpected operation ${quote(attributes.operation)}`);
  const [pod, old] = [objectOf(attributes, pods), oldObjectOf(attributes, pods)];
  if (old.spec.nodeName !== node)
    throw refusal(
      attributes,
      `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`,
    );
  if (!isDeepStrictEqual({ ...pod.metadata.labels }, { ...old.metadata.labels }))
    throw refusal(attributes, `node ${quote(node)} cannot update labels through pod status`);
  if (!isSame(pod.status?.resourceClaimStatuses, old.status?.resourceClaimStatuses))
    throw refusal(attributes, `node ${quote(node)} cannot update resource claim statues`);
  if (!isDeepStrictEqual(pod.status?.extendedResourceClaimStatus, old.status?.extendedResourceClaimStatus))
    throw refusal(attributes, `node ${quote(node)} cannot update extended resource claim status`);
};

const isSame = (left: readonly unknown[] | undefined, right: readonly unknown[] | undefined): boolean =>
  isDeepStrictEqual(left ?? [], right ?? []);

const checkEviction: Check = (attributes, node, options) => {
  if (attributes.operation !== 'CREATE') throw refusal(attributes, `unexpected operation ${attributes.operation}`);
  if (podNamed(attributes, options).spec.nodeName !== node)
    throw refusal(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`);
};

function podNamed({ namespace, name, object }: AdmissionAttributes, { reader }: NodeRestrictionOptions): Pod {
  const wanted = name === '' ? (object?.metadata.name ?? '') : name;
  const pod = reader.get(pods, { namespace, name: wanted });
  if (pod === undefined) throw notFound(pods, wanted);
  return pod;
}

/**
 * Checks mirror pods, which show pods that a node runs from its own manifests. They must belong to the node and use no
 * API objects.
 */
const checkMirrorPod: Check = (attributes, node, { reader }) => {
  const pod = objectOf(attributes, pods);
  const fail = (why: string): never => {
    throw refusal(attributes, why);
  };
  if (pod.metadata.annotations?.[annotations.configMirror] === undefined)
    fail(
      `pod does not have ${quote(annotations.configMirror)} annotation, node ${quote(node)} can only create mirror pods`,
    );
  if (pod.spec.nodeName !== node) fail(`node ${quote(node)} can only create pods with spec.nodeName set to itself`);
  const [owner, ...others] = pod.metadata.ownerReferences ?? [];
  if (others.length > 0) fail(`node ${quote(node)} can only create pods with a single owner reference set to itself`);
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return fail(`node ${quote(node)} can only create pods with an owner reference set to itself`);
  if (owner.controller !== true)
    fail(`node ${quote(node)} can only create pods with a controller owner reference set to itself`);
  if (owner.blockOwnerDeletion === true)
    fail(`node ${quote(node)} must not set blockOwnerDeletion on an owner reference`);
  const own = reader.get(nodes, { namespace: '', name: node });
  if (own === undefined) throw notFound(nodes, node);
  if (owner.uid !== own.metadata.uid) fail(`node ${node} UID mismatch: expected ${owner.uid} got ${own.metadata.uid}`);
  const reference = apiReferenceOf(pod);
  if (reference !== undefined) fail(`node ${quote(node)} can not create pods that reference ${reference}`);
};

const checkNode: Check = (attributes, node) => {
  const { operation, name } = attributes;
  if (name !== node) throw refusal(attributes, `node ${quote(node)} is not allowed to modify node ${quote(name)}`);
  if (operation === 'DELETE') return;
  const now = objectOf(attributes, nodes);
  const before = operation === 'CREATE' ? undefined : oldObjectOf(attributes, nodes);
  const labels = forbiddenLabelChanges(now.metadata.labels ?? {}, before?.metadata.labels ?? {}).join(', ');
  if (before === undefined) {
    if (now.spec?.configSource !== undefined)
      throw refusal(attributes, `node ${quote(node)} is not allowed to create pods with a non-nil configSource`);
    if (labels !== '')
      throw refusal(attributes, `node ${quote(node)} is not allowed to set the following labels: ${labels}`);
    return;
  }
  if (now.spec?.configSource !== undefined && !isDeepStrictEqual(now.spec.configSource, before.spec?.configSource)) {
    throw refusal(
      attributes,
      `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`,
    );
  }
  if (!isSame(now.spec?.taints, before.spec?.taints))
    throw refusal(attributes, `node ${quote(node)} is not allowed to modify taints`);
  if (!isSame(now.metadata.ownerReferences, before.metadata.ownerReferences))
    throw refusal(attributes, `node ${quote(node)} is not allowed to modify ownerReferences`);
  if (labels !== '') throw refusal(attributes, `is not allowed to modify labels: ${labels}`);
};

const checkClaim: Check = (attributes, node) => {
  if (attributes.subresource !== 'status') throw refusal(attributes, 'may only update PVC status');
  if (attributes.operation !== 'UPDATE')
    throw refusal(attributes, `unexpected operation ${quote(attributes.operation)}`);
  if (
    isDeepStrictEqual(
      fixedPart(objectOf(attributes, persistentVolumeClaims)),
      fixedPart(oldObjectOf(attributes, persistentVolumeClaims)),
    )
  )
    return;
  throw refusal(
    attributes,
    `node ${quote(node)} is not allowed to update fields other than status.quantity and status.conditions`,
  );
};

/** All fields of a claim except those that a node reports when it expands the volume. */
function fixedPart(claim: PersistentVolumeClaim): object {
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResourceStatuses: _statuses,
    allocatedResources: _allocated,
    ...status
  } = claim.status ?? {};
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = claim.metadata;
  return { ...claim, metadata, status };
}

/** Allows tokens only for pods of the node, and only for audiences that the pod uses. */
const checkToken: Check = async (attributes, node, options) => {
  if (attributes.operation !== 'CREATE' || attributes.subresource !== 'token') return;
  const { spec } = attributes.object as TokenRequest;
  const reference = spec.boundObjectRef;
  const { apiVersion, kind, name = '', uid = '' } = reference ?? {};
  if (apiVersion !== 'v1' || kind !== 'Pod' || name === '')
    throw refusal(attributes, 'node requested token not bound to a pod');
  if (uid === '') throw refusal(attributes, 'node requested token with a pod binding without a uid');
  const pod = options.reader.get(pods, { namespace: attributes.namespace, name });
  if (pod === undefined) throw notFound(pods, name);
  if (uid !== pod.metadata.uid)
    throw refusal(
      attributes,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (pod.spec.nodeName !== node)
    throw refusal(attributes, 'node requested token bound to a pod scheduled on a different node');
  const audiences = spec.audiences ?? [];
  if (audiences.length > 1) throw refusal(attributes, 'node may only request 0 or 1 audiences');
  await checkAudience(attributes, options, pod, audiences[0] ?? '');
};

async function checkAudience(
  attributes: AdmissionAttributes,
  { reader, authorizer }: NodeRestrictionOptions,
  pod: Pod,
  audience: string,
): Promise<void> {
  if (audiencesOf(pod, reader).has(audience)) return;
  const { user } = attributes.context;
  const { namespace, name } = attributes;
  const question = {
    user,
    verb: 'request-serviceaccounts-token-audience',
    namespace,
    apiGroup: '',
    apiVersion: 'v1',
    resource: audience,
    subresource: '',
    name,
    resourceRequest: true,
    path: '',
  };
  if ((await authorizer.authorize(question)).decision === 'allow') return;
  throw refusal(
    attributes,
    `audience ${quote(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
  );
}

/** The audiences of the pod's projected volumes and of the drivers of its CSI volumes. */
function audiencesOf(pod: Pod, reader: ObjectReader): ReadonlySet<string> {
  const found = new Set<string>();
  for (const volume of pod.spec.volumes ?? []) {
    for (const { serviceAccountToken } of volume.projected?.sources ?? [])
      if (serviceAccountToken !== undefined) found.add(serviceAccountToken.audience ?? '');
    const claim =
      volume.ephemeral === undefined ? volume.persistentVolumeClaim?.claimName : `${pod.metadata.name}-${volume.name}`;
    const driver =
      volume.csi?.driver ?? (claim === undefined ? undefined : driverOfClaim(reader, pod.metadata.namespace, claim));
    if (driver === undefined) continue;
    for (const { audience } of reader.get(csiDrivers, { namespace: '', name: driver })?.spec.tokenRequests ?? [])
      found.add(audience);
  }
  return found;
}

function driverOfClaim(reader: ObjectReader, namespace: string, name: string): string | undefined {
  const volume = reader.get(persistentVolumeClaims, { namespace, name })?.spec.volumeName ?? '';
  return volume === '' ? undefined : reader.get(persistentVolumes, { namespace: '', name: volume })?.spec.csi?.driver;
}

const checkLease: Check = (attributes, node) => {
  if (attributes.namespace !== 'kube-node-lease')
    throw refusal(attributes, 'can only access leases in the "kube-node-lease" system namespace');
  if (ownName(attributes) !== node)
    throw refusal(attributes, 'can only access node lease with the same name as the requesting node');
};

const checkCsiNode: Check = (attributes, node) => {
  if (ownName(attributes) !== node)
    throw refusal(attributes, 'can only access CSINode with the same name as the requesting node');
};

/**
 * Checks the content of new slices, and each slice of a collection. The Node authorizer restricts reads and updates,
 * but cannot see these.
 */
const checkResourceSlice: Check = (attributes, node) => {
  const { operation } = attributes;
  if (operation !== 'CREATE' && operation !== 'DELETE') return;
  const slice = operation === 'CREATE' ? objectOf(attributes, resourceSlices) : oldObjectOf(attributes, resourceSlices);
  if (slice.spec.nodeName !== node)
    throw refusal(
      attributes,
      `can only ${operation.toLowerCase()} ResourceSlice with the same NodeName as the requesting node`,
    );
};

const ownName = ({ operation, name, object }: AdmissionAttributes): string =>
  operation === 'CREATE' ? (object?.metadata.name ?? '') : name;

const kubeletSigners: readonly string[] = [
  'kubernetes.io/kubelet-serving',
  'kubernetes.io/kube-apiserver-client-kubelet',
];

const checkCertificateRequest: Check = (attributes, node, { readCommonName }) => {
  if (attributes.operation !== 'CREATE') return;
  const { spec } = objectOf(attributes, certificateSigningRequests);
  if (!kubeletSigners.includes(spec.signerName)) return;
  let commonName: string;
  try {
    commonName = readCommonName(Buffer.from(spec.request, 'base64').toString());
  } catch (error) {
    throw refusal(attributes, `unable to parse csr: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (commonName !== `system:node:${node}`)
    throw refusal(attributes, `can only create a node CSR with CN=system:node:${node}`);
};

const checks: ReadonlyMap<string, Check> = new Map(
  (
    [
      [pods, checkPod],
      [nodes, checkNode],
      [persistentVolumeClaims, checkClaim],
      [serviceAccounts, checkToken],
      [leases, checkLease],
      [csiNodes, checkCsiNode],
      [resourceSlices, checkResourceSlice],
      [certificateSigningRequests, checkCertificateRequest],
      [podCertificateRequests, checkPodCertificateRequest],
    ] as const
  ).map(([{ group, plural }, check]): [string, Check] => [`${plural}.${group}`, check]),
);
