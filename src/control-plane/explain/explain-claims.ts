import { storageAnnotations } from '../../api/annotations.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Blocker } from '../../api/explanation/explanation.ts';
import { lastEvent, timeMs } from './cluster-view.ts';
import type { ClusterView } from './cluster-view.ts';

const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

/**
 * Returns the unbound claims of a pod, with the reason. A claim that waits for the pod to be scheduled is not included.
 */
export function explainClaims(pod: Pod, view: ClusterView): readonly Blocker[] {
  if (view.unseen.has('claims')) return [];
  return (pod.spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claimName =
      persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`);
    if (claimName === undefined) return [];
    const claim = view.claims.find(
      ({ metadata }) => metadata.namespace === pod.metadata.namespace && metadata.name === claimName,
    );
    const step = `volume ${name}`;
    if (claim !== undefined) return explainClaim(claim, step, view);
    const madeFor = persistentVolumeClaim === undefined;
    return [
      {
        step,
        cause: `claim ${claimName} ${madeFor ? 'has not been created for it yet' : 'does not exist'}`,
        sinceMs: timeMs(pod.metadata.creationTimestamp) ?? 0,
        suggestions: [
          madeFor
            ? 'check that a controller manager is running'
            : `create the claim ${claimName}, or use another one in the pod`,
        ],
      },
    ];
  });
}

/** Builds the blocker of one claim from its cause and suggestions. */
type BlockedClaim = (cause: string, ...suggestions: readonly string[]) => Blocker;

function explainClaim(claim: PersistentVolumeClaim, step: string, view: ClusterView): Blocker[] {
  const { metadata, spec, status } = claim;
  const sinceMs = timeMs(metadata.creationTimestamp) ?? 0;
  const blocked: BlockedClaim = (cause, ...suggestions) => {
    const failed = lastEvent(view, metadata.uid, ({ type }) => type === 'Warning');
    return {
      step,
      cause: `claim ${metadata.name}: ${cause}`,
      sinceMs,
      ...(failed?.message !== undefined && { lastError: failed.message }),
      suggestions,
    };
  };
  if (metadata.deletionTimestamp !== undefined)
    return [blocked('it is being deleted', 'create it again after it has been deleted')];
  if (status?.phase === 'Lost')
    return [
      blocked(
        `its volume ${spec?.volumeName ?? ''} is gone`,
        'restore the volume, or delete the claim and create it again',
      ),
    ];
  if (status?.phase === 'Bound') return [];
  if ((spec?.volumeName ?? '') !== '')
    return [
      blocked(
        `volume ${spec?.volumeName} is not bound to it yet`,
        `inspect it: kubectl describe pv ${spec?.volumeName}`,
      ),
    ];
  return explainProvisioning(claim, view, blocked);
}

/** A claim that names no volume waits for a volume that matches, or for a provisioner. */
function explainProvisioning(
  { metadata, spec }: PersistentVolumeClaim,
  view: ClusterView,
  blocked: BlockedClaim,
): Blocker[] {
  const className = spec?.storageClassName;
  if (className === undefined)
    return [
      blocked(
        'it has no storage class, and there is no default class',
        'set storageClassName, or mark a class as the default',
      ),
    ];
  const size = spec?.resources?.requests?.['storage'] ?? 'the requested size';
  const make = `create a PersistentVolume of at least ${size} with its access modes${className === '' ? '' : ` and storageClassName ${className}`}`;
  if (className === '') return [blocked('no PersistentVolume without a class matches it', make)];
  if (view.unseen.has('storageClasses')) return [blocked(`it waits for a volume of class ${className}`)];
  const storageClass = view.storageClasses.find((each) => each.metadata.name === className);
  if (storageClass === undefined)
    return [
      blocked(
        `storage class ${className} does not exist`,
        `create the class, or use one of: ${view.storageClasses.map((each) => each.metadata.name).join(', ') || 'there is none'}`,
      ),
    ];
  const isLate = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
  if (isLate && metadata.annotations?.[storageAnnotations.selectedNode] === undefined) return [];
  const { provisioner } = storageClass;
  if (provisioner === NO_PROVISIONER) return [blocked(`no PersistentVolume of class ${className} matches it`, make)];
  return [
    blocked(
      `the provisioner ${provisioner} has not created its volume yet`,
      `check the pods of ${provisioner} and their logs`,
    ),
  ];
}
