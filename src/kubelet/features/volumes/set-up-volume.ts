import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { volumeEvents } from '../../../api/reasons.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import { podUid } from '../../model/ids.ts';
import type { MountedVolume } from '../../model/pod-volumes.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { StagedVolume, VolumePlugin, VolumeSpec, VolumeStaging } from '../../ports/volume-plugin.ts';
import { pluginFolder } from '../../ports/volume-plugin.ts';
import type { VolumeAttachWaiter } from './volume-attach-waiter.ts';
import type { NodeIdentity } from './node-affinity.ts';
import { mayBeUsedHere } from './node-affinity.ts';
import type { PodFolders } from './pod-folders.ts';
import type { ClaimContext } from './resolve-volume.ts';
import { claimedSpec, extraGroupsOf, inlineSpec } from './resolve-volume.ts';
import type { StagingArea } from './staging-area.ts';
import { refusedKind } from './refused-kinds.ts';

const POD_FOLDER_MODE = 0o750;

/** The error of a step of setting up a volume: the event's reason and text, as in upstream's operation_generator.go. */
export class SetUpFailed extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * The error that the volume waits for another component, which will notify when it is done. No event is recorded yet.
 */
export class NotAttached extends SetUpFailed {
  constructor(message: string) {
    super('', message);
  }
}

export interface SetUpParts extends ClaimContext {
  readonly plugins: readonly VolumePlugin[];
  readonly folders: PodFolders;
  readonly makeDirectory: (path: string, mode: number) => Promise<void>;
  readonly staging: StagingArea;
  /** Volumes that the control plane attaches to the node; undefined on a standalone node. */
  readonly attachWaiter?: VolumeAttachWaiter | undefined;
  readonly node: () => NodeIdentity;
  readonly recorder: EventRecorder;
  /** Gives a volume to the pod's fsGroup, following its fsGroupChangePolicy. */
  readonly applyFsGroup: (pod: Pod, path: string) => Promise<void>;
}

/** A resolved volume of a pod. */
export interface Resolved {
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
  readonly path: string;
}

export interface Made {
  readonly mounted: MountedVolume;
  readonly againInMs: number | undefined;
  readonly settled: boolean;
}

/**
 * Resolves an inline volume. Throws `Invalid` for a name that leaves its folder. Returns undefined for a claim, and for
 * a kind that no plugin supports.
 */
export function resolveInline(parts: SetUpParts, pod: Pod, volume: Volume): Resolved | undefined {
  const spec = inlineIfUsable(pod, volume);
  if (spec === undefined) return undefined;
  const plugin = parts.plugins.find((one) => one.supports(spec));
  return resolvedBy(parts, pod, spec, plugin);
}

function resolvedBy(
  parts: SetUpParts,
  pod: Pod,
  spec: VolumeSpec,
  plugin: VolumePlugin | undefined,
): Resolved | undefined {
  // The name is checked even where no path contains it.
  const path = parts.folders.volumePath(podUid(pod.metadata.uid), {
    folder: pluginFolder(plugin?.name ?? 'none'),
    name: spec.name,
    mode: spec.mode,
  });
  return plugin === undefined ? undefined : { spec, plugin, path };
}

/** Resolves claim, PersistentVolume and plugin, and checks whether the pod may use it. Throws SetUpFailed. */
export async function resolveAny(parts: SetUpParts, pod: Pod, volume: Volume): Promise<Resolved> {
  const spec = await specOf(parts, pod, volume);
  const plugin = parts.plugins.find((one) => one.supports(spec));
  const step = spec.mode === 'Block' ? 'MapVolume' : 'MountVolume';
  const fail = (what: string, why: string): SetUpFailed =>
    new SetUpFailed(volumeEvents.failedMount, failureText(`${step}.${what}`, spec.name, why));
  if (plugin === undefined) throw fail('FindPluginBySpec failed', refusedKind(spec) ?? 'no volume plugin matched');
  if (spec.kind === 'persistent' && !mayBeUsedHere(spec.persistentVolume, parts.node()))
    throw fail('NodeAffinity check failed', 'no matching NodeSelectorTerms');
  if (spec.mountOptions.length > 0 && plugin.mountOptions === false)
    throw fail('MountOptionSupport check failed', 'mount options are not supported for this volume type');
  if (spec.mode === 'Block' && plugin.block !== true)
    throw fail('FindMapperPluginBySpec failed', 'no volume plugin matched: this kind has no block volumes');
  return resolvedBy(parts, pod, spec, plugin) as Resolved;
}

function inlineIfUsable(pod: Pod, volume: Volume): VolumeSpec | undefined {
  try {
    return inlineSpec(volume, pod.metadata.namespace);
  } catch (error) {
    // The attempt that sets it up reports the error.
    if (isKind(error, 'Invalid')) return undefined;
    throw error;
  }
}

async function specOf(parts: SetUpParts, pod: Pod, volume: Volume): Promise<VolumeSpec> {
  try {
    return inlineSpec(volume, pod.metadata.namespace) ?? (await claimedSpec(pod, volume, parts));
  } catch (error) {
    throw new SetUpFailed(
      volumeEvents.failedMount,
      `Unable to attach or mount volumes: unmounted volumes=[${volume.name}], unattached volumes=[], failed to process volumes=[${volume.name}]: ${errorMessage(error)}`,
      { cause: error },
    );
  }
}

/** Sets up the volume, from the staged volume to the path that containers use. Throws SetUpFailed. */
export async function makeVolume(
  parts: SetUpParts,
  pod: Pod,
  resolved: Resolved,
  state: { again: boolean; mounted: boolean | undefined },
): Promise<Made> {
  const { spec, plugin, path } = resolved;
  const fsGroup = pod.spec.securityContext?.fsGroup;
  const block = spec.mode === 'Block';
  const staged = await inStep(block ? 'MapVolume.SetUpDevice failed' : 'MountVolume.MountDevice failed', spec, () =>
    stage(parts, pod, resolved, fsGroup),
  );
  return inStep(block ? 'MapVolume.MapPodDevice failed' : 'MountVolume.SetUp failed', spec, async () => {
    if (plugin.ownFolder !== false && !state.again)
      await parts.makeDirectory(path.slice(0, path.lastIndexOf('/')), POD_FOLDER_MODE);
    const {
      ownership,
      againInMs,
      settled = false,
      ...ready
    } = await plugin.setUp({ pod, spec, path, ...state, staged, fsGroup });
    // Expiring content is created again, and its files with it.
    if (ownership === 'apply' && fsGroup !== undefined && (!state.again || againInMs !== undefined))
      await parts.applyFsGroup(pod, ready.hostPath);
    if (block && !state.again)
      parts.recorder.event(
        pod,
        'Normal',
        volumeEvents.successfulMountVolume,
        `MapVolume.MapPodDevice succeeded for volume "${spec.name}" volumeMapPath "${path.slice(0, path.lastIndexOf('/'))}"`,
      );
    const extraGroups = extraGroupsOf(spec);
    return {
      mounted: { name: spec.podVolume, ...ready, ...(extraGroups.length === 0 ? {} : { extraGroups }) },
      againInMs,
      settled,
    };
  });
}

async function stage(
  parts: SetUpParts,
  pod: Pod,
  { spec, plugin }: Resolved,
  fsGroup: number | undefined,
): Promise<StagedVolume | undefined> {
  const { staging } = plugin;
  const planned = await staging?.plan(spec, pod);
  if (staging === undefined || planned === undefined) return undefined;
  const attachedBy = (await staging.attaches?.(spec, pod)) ?? 'byNobody';
  return parts.staging.acquire(
    staging,
    { planned, uid: podUid(pod.metadata.uid), isAttachable: attachedBy !== 'byNobody' },
    async (wasFound) => {
      // What an earlier agent staged was attached at that time. The API server may be unavailable now.
      if (attachedBy !== 'byNobody' && !wasFound)
        await awaitAttached(parts, pod, { spec, staging, key: planned.key, byNode: attachedBy === 'byAnyone' });
      return staging.stage({ pod, spec, planned, fsGroup });
    },
  );
}

async function awaitAttached(
  { attachWaiter }: SetUpParts,
  pod: Pod,
  { spec, staging, key, byNode }: { spec: VolumeSpec; staging: VolumeStaging; key: string; byNode: boolean },
): Promise<void> {
  if (attachWaiter === undefined) return;
  const problem = attachWaiter.problem(key, spec.name, { byNode });
  if (problem?.kind === 'wait') throw new NotAttached(problem.message);
  if (problem !== undefined) throw new SetUpFailed(volumeEvents.failedAttachVolume, problem.message);
  await inStep('MountVolume.WaitForAttach failed', spec, async () => staging.checkAttached?.(spec, pod));
}

async function inStep<T>(what: string, spec: VolumeSpec, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // The plugin reported a more specific step.
    if (error instanceof SetUpFailed) throw error;
    const reason = spec.mode === 'Block' ? volumeEvents.failedMapVolume : volumeEvents.failedMount;
    throw new SetUpFailed(reason, failureText(what, spec.name, errorMessage(error)), { cause: error });
  }
}

export const failureText = (what: string, name: string, error: string): string =>
  `${what} for volume "${name}" : ${error}`;

/**
 * Builds the error for a volume that another pod uses exclusively (upstream: operation_generator.go, mode
 * ReadWriteOncePod).
 */
export function aloneInUse({ name, mode }: VolumeSpec): SetUpFailed {
  const cause = new KubeletError(
    'Conflict',
    'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
  );
  const [reason, what] =
    mode === 'Block'
      ? ([volumeEvents.failedMapVolume, 'MapVolume.SetUpDevice failed'] as const)
      : ([volumeEvents.failedMount, 'MountVolume.SetUp failed'] as const);
  return new SetUpFailed(reason, failureText(what, name, cause.message), { cause });
}
