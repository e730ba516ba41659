import { attachmentName } from '../../../api/attachable-volume.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { ClaimReporter } from './claim-resize.ts';
import type { Attachments, CsiLookup } from './csi-lookup.ts';
import type { CsiPaths } from './csi-names.ts';
import { said } from './csi-names.ts';
import type { CsiSource } from './csi-request.ts';
import type { DriverRegistry } from './driver-registry.ts';
import { DriverSession, isFinal } from './driver-session.ts';
import type { VolumeData } from './volume-data.ts';

/** The shared parts of the CSI plugin. */
export interface CsiContext {
  readonly registry: DriverRegistry;
  readonly lookup: CsiLookup;
  readonly attachments: Attachments;
  readonly paths: CsiPaths;
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly nodeName: string;
  /** The reporter of claims; undefined on a standalone node. */
  readonly claims?: ClaimReporter | undefined;
}

export const FOLDER_MODE = 0o750;
/** The time to wait for a driver in undo operations. It must be shorter than every deadline of a teardown. */
const UNDO_PATIENCE_MS = 5_000;

/**
 * Opens a session with the driver. `step` is upstream's name of the operation, for the message about a missing driver.
 */
export function openSession({ registry, clock }: CsiContext, driver: string, step: string): DriverSession {
  try {
    return new DriverSession(registry.node(driver), clock);
  } catch (error) {
    throw new KubeletError('Unavailable', said(`${step}: ${errorMessage(error)}`), { cause: error });
  }
}

/**
 * Opens a session for an undo operation. It waits for a driver that is about to register, for example after a restart
 * of the agent.
 */
export async function openSessionToUndo(context: CsiContext, driver: string, step: string): Promise<DriverSession> {
  await context.registry.awaitRegistered(driver, UNDO_PATIENCE_MS);
  return openSession(context, driver, step);
}

export function volumeDataOf(
  context: CsiContext,
  source: CsiSource,
  specName: string,
  capacityBytes: number | undefined,
): VolumeData {
  return {
    specVolID: specName,
    volumeHandle: source.handle,
    driverName: source.driver,
    nodeName: context.nodeName,
    attachmentID: attachmentName(source.handle, source.driver, context.nodeName),
    ...(capacityBytes === undefined ? {} : { capacityBytes: String(capacityBytes) }),
  };
}

export async function isMounted({ mounts }: CsiContext, path: string): Promise<boolean> {
  return (await mounts.listBelow(path)).some((mount) => mount.path === path);
}

/**
 * Removes the files of a failed call. An error of the cleanup is logged, because it must not replace the error of the
 * call.
 */
export async function cleanUpAfter({ log }: CsiContext, path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn('the remains of a failed CSI call cannot be removed', { path, error: errorMessage(error) });
  }
}

/** Stages a volume. If the call certainly failed, its files are removed. */
export async function stageVolume(
  context: CsiContext,
  session: DriverSession,
  { source, removeRemains, ...given }: StageVolume,
): Promise<void> {
  try {
    await session.stage({ ...given, volumeId: source.handle, volumeContext: source.attributes });
  } catch (error) {
    if (isFinal(error)) await cleanUpAfter(context, given.stagingPath, removeRemains);
    throw error;
  }
}

interface StageVolume extends Omit<Parameters<DriverSession['stage']>[0], 'volumeId' | 'volumeContext'> {
  readonly source: CsiSource;
  readonly removeRemains: () => Promise<void>;
}

/** Returns what ControllerPublishVolume returned, or {} for a driver that needs no attaching. */
export async function publishContextOf(
  { lookup, attachments }: CsiContext,
  source: CsiSource,
): Promise<Readonly<Record<string, string>>> {
  const { attachRequired } = await lookup.driver(source.driver);
  return attachRequired ? attachments.publishContext(source.driver, source.handle) : {};
}

/** Runs `work`, and adds the prefix of upstream's step to an error. The error keeps its kind. */
export async function wrapFailure<Value>(step: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw new KubeletError(
      error instanceof KubeletError ? error.kind : 'Internal',
      said(`${step}: ${errorMessage(error)}`),
      { cause: error },
    );
  }
}
