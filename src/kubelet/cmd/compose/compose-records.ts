import { errorMessage } from '../../../base/errors.ts';
import { AdmittedRecord, isAdmittedPods } from '../../features/admission/admitted-record.ts';
import { EvictedRecord, isEvictedPods } from '../../features/eviction/evicted-record.ts';
import { CheckpointFile } from '../../features/state/checkpoint-file.ts';
import { isPressureConditions, NodePressure } from '../../features/eviction/node-pressure.ts';
import { ResourceCheckpoint } from '../../features/allocation/resource-checkpoint.ts';
import { RememberedPods } from '../../features/pod-config/remembered-pods.ts';
import type { FoundChanges } from '../../features/state/change-file.ts';
import { ChangeFile } from '../../features/state/change-file.ts';
import { removeLeftovers } from '../../features/state/remove-leftovers.ts';
import { StateFile } from '../../features/state/state-file.ts';
import { isSavedTimeline, Timeline } from '../../features/explain/timeline.ts';
import { StatusManager } from '../../features/status/status-manager.ts';
import { readStatuses } from '../../features/status/status-record.ts';
import type { Platform } from './platform.ts';
import { isKeptObject, KeptObjects } from '../../features/cluster-objects/kept-objects.ts';
import { StateFolder } from '../../features/state/state-folder.ts';
import type { KeptToken } from '../../features/tokens/service-account-tokens.ts';
import { isKeptToken } from '../../features/tokens/service-account-tokens.ts';

/** How long a disk that hangs may delay the status of pods that clients see. */
const RECORD_LIMIT_MS = 1000;
/**
 * Changes are written soon, but not so often that a pod in a crash loop wears out the disk. A stop writes immediately.
 */
const pace = {
  timeline: { coalesceMs: 2000, spacingMs: 60_000 },
  admitted: { coalesceMs: 20, spacingMs: 10_000, burst: 12 },
  evicted: { coalesceMs: 20, spacingMs: 10_000, burst: 12 },
  pressure: { coalesceMs: 20, spacingMs: 10_000, burst: 12 },
};

/** The state that survives a restart of the agent. If it is lost, pods are not harmed. */
export interface Records {
  readonly timeline: Timeline;
  readonly statuses: StatusManager;
  /** The admitted pods, so that none is decided twice. */
  readonly admitted: AdmittedRecord;
  /** The evicted pods, so that none starts again and each keeps its reason. */
  readonly evicted: EvictedRecord;
  /** Writes the record of evicted pods immediately. */
  readonly saveEvicted: () => Promise<void>;
  /** The resources of which the node has too little. */
  readonly pressure: NodePressure;
  /** Resolves when the admitted pods are on disk, or cannot be written now. */
  readonly saveAdmitted: () => Promise<void>;
  /** The allocated and actuated resources of pods, in upstream's files. */
  readonly allocated: ResourceCheckpoint;
  readonly actuated: ResourceCheckpoint;
  /** The CPUs and memory of containers, in upstream's files. */
  readonly cpuManagerState: CheckpointFile;
  readonly memoryManagerState: CheckpointFile;
  /** Resolves when both files are on disk, or cannot be written now. */
  readonly saveManagers: () => Promise<void>;
  /** The saved probe results of an earlier run. */
  readonly probes: FoundChanges;
  /**
   * Saves the results of probes from now on, so that readiness survives a kill -9. Returns a function that must be
   * called with each change.
   */
  keepProbes(snapshot: () => readonly unknown[]): (change: unknown) => void;
  /** The objects and tokens of the API server; undefined on a standalone node. */
  readonly kept: Kept | undefined;
  /** The last known pods of this node in the API; empty on a standalone node. */
  readonly apiPods: RememberedPods;
  flush(): Promise<void>;
}

/** The folders below the root directory in which the agent replaces files. */
const writtenFolders = [
  'agent-state',
  'device-plugins',
  'image_manager/pulled',
  'image_manager/pulling',
  'manifests-last-good',
];

/** Reads the state of an earlier run. A corrupt file is logged and counts as empty. */
export async function composeRecords(rootDir: string, platform: Platform): Promise<Records> {
  const { files, clock, log } = platform;
  const folder = `${rootDir}/agent-state`;
  // On a disk that cannot be written, the agent runs without saved state, and logs that.
  await files.makeDirectory(folder, 0o700).catch((error: unknown) =>
    log.error("the folder of the agent's state cannot be created; a restart would forget recent state", {
      folder,
      error: errorMessage(error),
    }),
  );
  await removeLeftovers([rootDir, ...writtenFolders.map((name) => `${rootDir}/${name}`)], { files, log });
  const probesPath = `${folder}/probes.jsonl`;
  const load = <T>(name: string, accept: (value: unknown) => value is T): Promise<T | undefined> =>
    StateFile.load({ path: `${folder}/${name}.json`, files, log }, accept);
  const [savedTimeline, savedProbes, savedAdmitted, savedEvicted, savedPressure] = await Promise.all([
    load('timeline', isSavedTimeline),
    ChangeFile.load({ path: probesPath, files, log }),
    load('admitted', isAdmittedPods),
    load('evicted', isEvictedPods),
    load('pressure', isPressureConditions),
  ]);
  const apiPods = await composeApiPods(folder, platform);
  const statuses = await composeStatuses(folder, platform);
  const kept = platform.cluster === undefined ? undefined : await composeKept(folder, platform);
  const open: { flush(): Promise<void> }[] = kept === undefined ? [] : [kept];
  const openFile = (name: keyof typeof pace, snapshot: () => unknown): StateFile<unknown> => {
    const file = new StateFile({ path: `${folder}/${name}.json`, files, clock, log, snapshot, ...pace[name] });
    open.push(file);
    return file;
  };
  const keep = (name: keyof typeof pace, snapshot: () => unknown): (() => void) => {
    const file = openFile(name, snapshot);
    return () => file.changed();
  };
  const timeline = new Timeline(clock, savedTimeline);
  const saveTimeline = keep('timeline', () => timeline.snapshot());
  timeline.onChange(() => saveTimeline());
  const admitted = new AdmittedRecord(savedAdmitted);
  const admittedFile = openFile('admitted', () => admitted.snapshot());
  admitted.onChange(() => admittedFile.changed());
  const evicted = new EvictedRecord(savedEvicted);
  const evictedFile = openFile('evicted', () => evicted.snapshot());
  evicted.onChange(() => evictedFile.changed());
  const pressure = new NodePressure(savedPressure);
  const savePressure = keep('pressure', () => pressure.conditions);
  pressure.onChange(() => savePressure());
  const checkpoint = (name: string): Promise<CheckpointFile> =>
    CheckpointFile.open({ path: `${rootDir}/${name}`, files, clock, log });
  const checkpoints = await Promise.all([
    checkpoint('allocated_pods_state'),
    checkpoint('actuated_pods_state'),
    checkpoint('cpu_manager_state'),
    checkpoint('memory_manager_state'),
  ]);
  const [allocated, actuated, cpuManagerState, memoryManagerState] = checkpoints;
  return {
    timeline,
    statuses: statuses.manager,
    admitted,
    evicted,
    saveEvicted: () => evictedFile.flush(),
    pressure,
    saveAdmitted: async () => {
      await admittedFile.flush();
      // A write that failed is retried. What is on disk is not written again.
      admittedFile.changed();
    },
    probes: savedProbes,
    keepProbes: (snapshot) => {
      const file = new ChangeFile({ path: probesPath, files, clock, log, snapshot });
      open.push(file);
      return (change) => file.changed(change);
    },
    allocated: new ResourceCheckpoint(allocated),
    actuated: new ResourceCheckpoint(actuated),
    cpuManagerState,
    memoryManagerState,
    saveManagers: async () => {
      await Promise.all([cpuManagerState.flush(), memoryManagerState.flush()]);
    },
    kept,
    apiPods: apiPods.pods,
    flush: async () => {
      await Promise.all([...open, apiPods.file, statuses.file, ...checkpoints].map((file) => file.flush()));
    },
  };
}

/**
 * Creates the record of statuses. Changes are appended immediately, because an agent that starts after a kill -9 must
 * report the status that clients have seen.
 */
async function composeStatuses(
  folder: string,
  { files, clock, log }: Platform,
): Promise<{ manager: StatusManager; file: ChangeFile }> {
  const path = `${folder}/statuses.jsonl`;
  const { entries } = await ChangeFile.load({ path, files, log });
  const restored = readStatuses(entries);
  const manager = new StatusManager(clock, {
    restored,
    record: (line) => file.changed(line),
    whenRecorded: () => file.written(RECORD_LIMIT_MS),
  });
  const file = new ChangeFile({ path, files, clock, log, snapshot: () => manager.snapshot() });
  return { manager, file };
}

async function composeApiPods(
  folder: string,
  { files, clock, log }: Platform,
): Promise<{ pods: RememberedPods; file: ChangeFile }> {
  const path = `${folder}/pods.jsonl`;
  const { entries } = await ChangeFile.load({ path, files, log });
  const pods = new RememberedPods(entries, (line) => file.changed(line));
  const file = new ChangeFile({ path, files, clock, log, snapshot: () => pods.snapshot() });
  return { pods, file };
}

/**
 * The API server's objects that pods of this node need, on disk, so that a node that starts while the API server is
 * unavailable can run these pods.
 */
export interface Kept {
  readonly objects: KeptObjects;
  readonly tokens: { folder: StateFolder; left: ReadonlyMap<string, KeptToken> };
  flush(): Promise<void>;
}

/** Opens the folders. They contain Secrets and tokens, so only root may read them. */
async function composeKept(
  stateDir: string,
  { files, clock, log }: Pick<Platform, 'files' | 'clock' | 'log'>,
): Promise<Kept> {
  const at = (name: string) => ({ path: `${stateDir}/${name}`, files, clock, log });
  const [objects, tokens] = [at('objects'), at('tokens')];
  const [leftObjects, leftTokens] = await Promise.all([
    StateFolder.load(objects, isKeptObject),
    StateFolder.load(tokens, isKeptToken),
  ]);
  const [objectFolder, tokenFolder] = [new StateFolder(objects), new StateFolder(tokens)];
  return {
    objects: new KeptObjects(objectFolder, leftObjects),
    tokens: { folder: tokenFolder, left: leftTokens },
    flush: async () => {
      await Promise.all([objectFolder.flush(), tokenFolder.flush()]);
    },
  };
}
