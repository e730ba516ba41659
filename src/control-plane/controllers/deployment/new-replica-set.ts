import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { deployments } from '../../../api/client/resource-types.ts';
import { newControllerRef } from '../../controller-runtime/controller-ref.ts';
import { hashTemplate, withLabel } from '../../controller-runtime/pod-template.ts';
import {
  deploymentAnnotations,
  maxSurge,
  revisionNumber,
  TEMPLATE_HASH_LABEL,
  wantedReplicas,
} from './deployment-facts.ts';

/** The limit of the revision history; the oldest entries are dropped. */
const HISTORY_LIMIT_CHARS = 2000;
const LONGEST_NAME = 253;
/** Annotations of the deployment that are not copied to its replica sets. */
const notCopied: ReadonlySet<string> = new Set([
  ...Object.values(deploymentAnnotations),
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
]);

/**
 * Builds the ReplicaSet for the deployment's template, without replicas. Its name derives from the template, so that it
 * is created only once.
 */
export function buildNewSet(deployment: Deployment, revision: bigint): ReplicaSet {
  const { spec, metadata, status } = deployment;
  const hash = hashTemplate(spec.template, status?.collisionCount);
  const labels = withLabel(spec.template.metadata.labels, TEMPLATE_HASH_LABEL, hash);
  const set: ReplicaSet = {
    metadata: {
      name: nameOf(metadata.name, hash),
      namespace: metadata.namespace,
      uid: '',
      ownerReferences: [newControllerRef(deployments, deployment)],
      labels,
    },
    spec: {
      replicas: 0,
      ...(spec.minReadySeconds !== undefined && { minReadySeconds: spec.minReadySeconds }),
      selector: { ...spec.selector, matchLabels: withLabel(spec.selector.matchLabels, TEMPLATE_HASH_LABEL, hash) },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  };
  return withReplicasAnnotations(deployment, syncNewSet(deployment, set, revision));
}

function nameOf(deployment: string, hash: string): string {
  return `${deployment.slice(0, LONGEST_NAME - hash.length - 1)}-${hash}`;
}

/**
 * Copies annotations, minReadySeconds and the newest revision from the deployment to the set. Returns the same object
 * if nothing changes.
 */
export function syncNewSet(deployment: Deployment, set: ReplicaSet, revision: bigint): ReplicaSet {
  const annotations: Record<string, string> = { ...set.metadata.annotations };
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {}))
    if (!notCopied.has(key)) annotations[key] = value;
  const known = annotations[deploymentAnnotations.revision];
  const knownRevision = known === undefined || known === '' ? 0n : revisionNumber(known);
  if (knownRevision !== undefined && knownRevision < revision) {
    if (known !== undefined) remember(annotations, known);
    annotations[deploymentAnnotations.revision] = String(revision);
  }
  const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
  const before = set.metadata.annotations ?? {};
  const same =
    Object.keys(annotations).length === Object.keys(before).length &&
    Object.entries(annotations).every(([key, value]) => before[key] === value);
  if (same && (set.spec.minReadySeconds ?? 0) === minReadySeconds) return set;
  return { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, minReadySeconds } };
}

/** Keeps the revision history of a set that becomes the newest again. */
function remember(annotations: Record<string, string>, revision: string): void {
  const before = (annotations[deploymentAnnotations.revisionHistory] ?? '').split(',').filter((each) => each !== '');
  const history = [...before, revision];
  while (history.length > 1 && history.join(',').length > HISTORY_LIMIT_CHARS) history.shift();
  annotations[deploymentAnnotations.revisionHistory] = history.join(',');
}

/** Records the replicas of the deployment when the set was sized, so that a later pass can detect scaling. */
export function withReplicasAnnotations(deployment: Deployment, set: ReplicaSet): ReplicaSet {
  const desired = String(wantedReplicas(deployment));
  const most = String(wantedReplicas(deployment) + maxSurge(deployment));
  const { annotations = {} } = set.metadata;
  if (
    annotations[deploymentAnnotations.desiredReplicas] === desired &&
    annotations[deploymentAnnotations.maxReplicas] === most
  )
    return set;
  return {
    ...set,
    metadata: {
      ...set.metadata,
      annotations: {
        ...annotations,
        [deploymentAnnotations.desiredReplicas]: desired,
        [deploymentAnnotations.maxReplicas]: most,
      },
    },
  };
}
