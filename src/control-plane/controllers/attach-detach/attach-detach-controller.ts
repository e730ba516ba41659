import { attachableVolume } from '../../../api/attachable-volume.ts';
import { csiFormOf, inlineCsiForm } from '../../../api/csi-migration.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Informer } from '../../../api/client/informer.ts';
import {
  csiDrivers,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { hasOutOfServiceTaint } from '../../controller-runtime/out-of-service.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import type { AttachmentSource, WantedVolume } from './plan-attachments.ts';
import { planAttachments } from './plan-attachments.ts';

interface Views {
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly attachments: Informer<VolumeAttachment>;
  readonly drivers: Informer<CSIDriver>;
}

/** The annotation of nodes that keep the volumes of terminated pods (upstream: DetermineVolumeAction). */
const KEEP_TERMINATED = 'volumes.kubernetes.io/keep-terminated-pod-volumes';

/**
 * Attaches the volumes of pods to their nodes, and detaches them when no pod there uses them any more (upstream:
 * persistentvolume-attach-detach-controller). It creates VolumeAttachments, which the external attachers of CSI drivers
 * execute; a node reads its attached volumes from its own status.
 */
export function createAttachDetachController(options: ControllerOptions): Controller {
  const { informers, clock, log } = options;
  const views: Views = {
    nodes: informers.for(nodes),
    pods: informers.for(pods),
    claims: informers.for(persistentVolumeClaims),
    volumes: informers.for(persistentVolumes),
    attachments: informers.for(volumeAttachments),
    drivers: informers.for(csiDrivers),
  };
  const syncer = new NodeSyncer(options, views);
  const queue = new RateLimitingQueue({
    name: 'attach-detach',
    clock,
    log,
    workers: 1,
    sync: (key) => syncer.sync(key),
  });
  return runController({
    name: 'attach-detach controller',
    log,
    queues: [queue],
    informers: Object.values(views),
    ends: wakeBy(views, queue),
  });
}

class NodeSyncer {
  readonly #client: ApiClient;
  readonly #clock: Clock;
  readonly #views: Views;
  readonly #recorder: EventRecorder;
  readonly #podsOf: { get(key: string): readonly Pod[] };
  readonly #attachmentsOf: { get(key: string): readonly VolumeAttachment[] };
  /** When each volume was first unneeded, by node and volume. */
  readonly #unwantedSinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(options: ControllerOptions, views: Views) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#views = views;
    this.#recorder = createEventRecorder({ ...options, component: 'attachdetach-controller' });
    this.#podsOf = views.pods.index('node', nodeOf);
    this.#attachmentsOf = views.attachments.index('node', ({ spec }) => [spec.nodeName]);
  }

  async sync(nodeName: string): Promise<number | undefined> {
    const node = this.#views.nodes.getByKey(nodeName);
    const nowMs = this.#clock.nowMs();
    const unwantedSinceMs = this.#unwantedSinceMs.get(nodeName) ?? new Map<string, number>();
    const wanted = node === undefined ? [] : this.#wanted(nodeName);
    const elsewhere = wanted.length === 0 ? new Set<string>() : this.#elsewhere(nodeName);
    const plan = planAttachments({
      nodeName,
      node,
      wanted,
      attachments: this.#attachmentsOf.get(nodeName),
      elsewhere,
      unwantedSinceMs,
      nowMs,
    });
    if (plan.leaving.length === 0) this.#unwantedSinceMs.delete(nodeName);
    else
      this.#unwantedSinceMs.set(nodeName, new Map(plan.leaving.map((key) => [key, unwantedSinceMs.get(key) ?? nowMs])));
    if (plan.attached !== undefined && node !== undefined) {
      const status = { volumesAttached: plan.attached.map((name) => ({ name, devicePath: '' })) };
      // The patch applies only to the checked version, because the node relies on this list.
      await this.#client.patch(
        nodes,
        { namespace: '', name: nodeName },
        {
          type: 'merge',
          body: { metadata: { uid: node.metadata.uid, resourceVersion: node.metadata.resourceVersion }, status },
        },
        { subresource: 'status' },
      );
    }
    for (const attachment of plan.create)
      await ignore('AlreadyExists', this.#client.create(volumeAttachments, attachment));
    for (const name of plan.remove)
      await ignore('NotFound', this.#client.delete(volumeAttachments, { namespace: '', name }));
    for (const { pod, ...said } of plan.said) this.#recorder.event(pods, pod, said);
    return plan.recheckMs;
  }

  #wanted(nodeName: string): WantedVolume[] {
    const found = new Map<string, WantedVolume>();
    const keepsTerminated = this.#views.nodes.getByKey(nodeName)?.metadata.annotations?.[KEEP_TERMINATED] === 'true';
    for (const pod of this.#podsOf.get(nodeName)) {
      if (isTerminalPod(pod) && !keepsTerminated) continue;
      for (const volume of pod.spec.volumes ?? []) {
        const wanted = this.#wantedOf(pod, volume);
        if (wanted !== undefined && !found.has(wanted.key)) found.set(wanted.key, wanted);
      }
    }
    return [...found.values()];
  }

  #wantedOf(pod: Pod, volume: Volume): WantedVolume | undefined {
    const claimName =
      volume.persistentVolumeClaim?.claimName ??
      (volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`);
    if (claimName === undefined) {
      const moved = inlineCsiForm(volume, pod.metadata.namespace);
      if (moved !== undefined) return this.#wantedVolume(pod, moved, { inlineSpec: moved.spec });
      const inline = volume.csi === undefined ? attachableVolume(volume) : undefined;
      return inline === undefined ? undefined : { key: inline.key, name: volume.name, isShared: true, pod };
    }
    const claim = this.#views.claims.get({ namespace: pod.metadata.namespace, name: claimName });
    const persistentVolume = this.#views.volumes.getByKey(claim?.spec.volumeName ?? '');
    if (claim?.status?.phase !== 'Bound' || persistentVolume?.spec.claimRef?.uid !== claim.metadata.uid)
      return undefined;
    const { name } = persistentVolume.metadata;
    return this.#wantedVolume(pod, csiFormOf(persistentVolume), { persistentVolume: name });
  }

  /** Returns the volume to attach, or undefined if it needs no attachment. */
  #wantedVolume(pod: Pod, { metadata, spec }: PersistentVolume, as: AttachmentSource): WantedVolume | undefined {
    const source = attachableVolume(spec);
    if (
      source === undefined ||
      (source.csi !== undefined && this.#views.drivers.getByKey(source.csi.driver)?.spec.attachRequired === false)
    )
      return undefined;
    const isShared = (spec.accessModes ?? []).some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany');
    return {
      key: source.key,
      name: metadata.name,
      isShared,
      pod,
      ...(source.csi !== undefined && { csi: { ...source.csi, source: as } }),
    };
  }

  /** Returns the attachments of other nodes. */
  #elsewhere(nodeName: string): ReadonlySet<string> {
    const found = new Set<string>();
    for (const { metadata, status } of this.#views.nodes.list())
      if (metadata.name !== nodeName) for (const { name } of status?.volumesAttached ?? []) found.add(name);
    for (const { spec } of this.#views.attachments.list()) {
      if (spec.nodeName === nodeName) continue;
      const { inlineVolumeSpec, persistentVolumeName = '' } = spec.source;
      const claimed = this.#views.volumes.getByKey(persistentVolumeName);
      const source = inlineVolumeSpec ?? (claimed === undefined ? undefined : csiFormOf(claimed).spec);
      const volume = source === undefined ? undefined : attachableVolume(source);
      if (volume !== undefined) found.add(volume.key);
    }
    return found;
  }
}

const nodeOf = ({ spec }: Pod): string[] => ((spec.nodeName ?? '') === '' ? [] : [spec.nodeName ?? '']);

async function ignore(reason: 'AlreadyExists' | 'NotFound', work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isApiError(error, reason)) throw error;
  }
}

const mayBeAttached = (volume: Volume): boolean =>
  volume.persistentVolumeClaim !== undefined ||
  volume.ephemeral !== undefined ||
  volume.iscsi !== undefined ||
  volume.fc !== undefined ||
  inlineCsiForm(volume, '') !== undefined;

/** Returns the claims of a pod, as `namespace/name`. */
const claimsOf = ({ metadata, spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claim =
      persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : `${metadata.name}-${name}`);
    return claim === undefined ? [] : [`${metadata.namespace}/${claim}`];
  });

/** Returns the part of a node that decides which volumes to attach and detach. */
const volumesOf = ({ spec, status }: Node): string =>
  JSON.stringify([
    hasOutOfServiceTaint({ spec }),
    status?.volumesAttached,
    status?.volumesInUse,
    status?.conditions?.find(({ type }) => type === 'Ready')?.status,
  ]);

/** Wakes nodes by events. Keys are node names. */
function wakeBy(views: Views, queue: RateLimitingQueue): (() => void)[] {
  const wake = (name: string): void => queue.add(name);
  const wakeOfPod = (pod: Pod): void => {
    // Most pods have only a token volume and nothing to attach.
    if ((pod.spec.volumes ?? []).some(mayBeAttached)) nodeOf(pod).forEach(wake);
  };
  const byClaim = views.pods.index('claim', claimsOf);
  const wakeOfClaim = ({ namespace, name }: { readonly namespace: string; readonly name: string }): void =>
    byClaim.get(`${namespace}/${name}`).forEach(wakeOfPod);
  const wakeOfVolume = ({ spec }: PersistentVolume): void =>
    wakeOfClaim({ namespace: spec.claimRef?.namespace ?? '', name: spec.claimRef?.name ?? '' });
  const wakeAll = (): void => views.nodes.list().forEach(({ metadata }) => wake(metadata.name));
  const nodeChanged = (before: Node, after: Node): void => {
    if (volumesOf(before) === volumesOf(after)) return;
    wake(after.metadata.name);
    // Another node may wait for a volume that was released.
    const now = new Set((after.status?.volumesAttached ?? []).map(({ name }) => name));
    if ((before.status?.volumesAttached ?? []).some(({ name }) => !now.has(name))) wakeAll();
  };
  return [
    views.nodes.addHandlers({
      onAdd: ({ metadata }) => wake(metadata.name),
      onUpdate: nodeChanged,
      onDelete: ({ metadata }) => wake(metadata.name),
    }),
    views.pods.addHandlers({
      onAdd: wakeOfPod,
      onUpdate: (before, after) =>
        (before.spec.nodeName !== after.spec.nodeName || before.status?.phase !== after.status?.phase) &&
        wakeOfPod(after),
      onDelete: wakeOfPod,
    }),
    views.claims.addHandlers({
      onAdd: ({ metadata }) => wakeOfClaim(metadata),
      onUpdate: (_, { metadata }) => wakeOfClaim(metadata),
    }),
    views.volumes.addHandlers({ onAdd: wakeOfVolume, onUpdate: (_, after) => wakeOfVolume(after) }),
    views.attachments.addHandlers({
      onAdd: ({ spec }) => wake(spec.nodeName),
      onUpdate: (_, { spec }) => wake(spec.nodeName),
      onDelete: wakeAll,
    }),
    views.drivers.addHandlers({
      onAdd: wakeAll,
      onUpdate: (before, after) => before.spec.attachRequired !== after.spec.attachRequired && wakeAll(),
      onDelete: wakeAll,
    }),
  ];
}
