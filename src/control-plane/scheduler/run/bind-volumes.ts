import { storageAnnotations } from '../../../api/annotations.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import type { VolumePlan } from '../framework/plugin.ts';
import { isFullyBound } from '../plugins/claims.ts';
import type { SchedulerContext } from './context.ts';
import type { LiveClusterObjects } from './live-cluster-objects.ts';

/** The objects to write, based on the versions that the decision used. */
export interface VolumeWrites {
  readonly volumes: readonly PersistentVolume[];
  readonly claims: readonly PersistentVolumeClaim[];
  /** All claims that must be bound before the pod. */
  readonly awaited: readonly PersistentVolumeClaim[];
}

/**
 * Computes the writes for a volume plan: volumes get a claim, and claims get a selected node. The PersistentVolume
 * controller then binds them.
 */
export function computeVolumeWrites({ bindings, provisions }: VolumePlan, nodeName: string): VolumeWrites {
  const volumes = bindings.map(({ volume, claim }): PersistentVolume => {
    const { metadata, spec } = volume;
    const claimRef = {
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      namespace: claim.metadata.namespace,
      name: claim.metadata.name,
      uid: claim.metadata.uid,
      resourceVersion: claim.metadata.resourceVersion,
    };
    const byController: Record<string, string> =
      spec.claimRef === undefined ? { [storageAnnotations.boundByController]: 'yes' } : {};
    return {
      ...volume,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...byController } },
      spec: { ...spec, claimRef },
    };
  });
  const claims = provisions.map((claim): PersistentVolumeClaim => {
    const { metadata } = claim;
    return {
      ...claim,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [storageAnnotations.selectedNode]: nodeName } },
    };
  });
  return { volumes, claims, awaited: [...bindings.map(({ claim }) => claim), ...provisions] };
}

/** Waits until all claims are bound; rejects after `timeoutMs`. It is driven by changes of the claims. */
export async function bindVolumes(
  { client, clock, objects, stopping }: SchedulerContext,
  writes: VolumeWrites,
  timeoutMs: number,
): Promise<void> {
  for (const volume of writes.volumes) await client.update(persistentVolumes, volume);
  for (const claim of writes.claims) await client.update(persistentVolumeClaims, claim);
  try {
    await withDeadline({ clock, limitMs: timeoutMs, op: 'binding volumes', signal: stopping }, (signal) =>
      whenBound(objects, writes, signal),
    );
  } catch (error) {
    throw new Error(
      `binding volumes: ${isKind(error, 'Timeout') ? 'context deadline exceeded' : errorMessage(error)}`,
      { cause: error },
    );
  }
}

function whenBound(
  { claims }: LiveClusterObjects,
  { awaited, claims: provisions }: VolumeWrites,
  signal: AbortSignal,
): Promise<void> {
  const provisionOf = new Map(provisions.map((claim) => [claim.metadata.uid, claim]));
  return new Promise<void>((resolve, reject) => {
    const look = (): void => {
      for (const { metadata } of awaited) {
        const claim = claims.get(metadata);
        if (claim === undefined)
          return end(() => reject(new Error(`persistentvolumeclaim "${metadata.name}" not found`)));
        if (isFullyBound(claim)) continue;
        const provision = provisionOf.get(claim.metadata.uid);
        if (provision !== undefined && isGivenBack(claim, provision))
          return end(() => reject(new Error(`provisioning failed for PVC ${JSON.stringify(metadata.name)}`)));
        return;
      }
      end(resolve);
    };
    const stopListening = claims.addHandlers({ onUpdate: look, onDelete: look });
    const end = (then: () => void): void => {
      stopListening();
      then();
    };
    const giveUp = (): void => end(() => reject(new Error('context canceled')));
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    else look();
  });
}

/**
 * Whether the provisioner could not create the volume on the selected node and removed the selection. The pod must then
 * be scheduled again. If the cache still shows the claim as the decision saw it, the cache is outdated (upstream:
 * volumebinding binder.go checkBindings).
 */
function isGivenBack({ metadata }: PersistentVolumeClaim, written: PersistentVolumeClaim): boolean {
  if (metadata.resourceVersion === written.metadata.resourceVersion) return false;
  const selected = storageAnnotations.selectedNode;
  return metadata.annotations?.[selected] !== written.metadata.annotations?.[selected];
}
