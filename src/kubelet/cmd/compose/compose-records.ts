import { errorMessage } from '../../../base/errors.ts';
import { AdmittedRecord, type AdmittedPods } from '../../features/admission/admitted-record.ts';
import { ResourceCheckpoint } from '../../features/allocation/resource-checkpoint.ts';
import { RememberedPods } from '../../features/pod-config/remembered-pods.ts';
import { ChangeFile, type FoundChanges } from '../../features/state/change-file.ts';
import { StateFile } from '../../features/state/state-file.ts';
import { Timeline } from '../../features/explain/timeline.ts';
import { StatusManager } from '../../features/status/status-manager.ts';
import type { TimelineEntry } from '../../model/explanation.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { openKept, type Kept } from './compose-kept.ts';
import type { World } from './world.ts';

/** Changes are written soon, but a pod that crashes all the time must not wear out the disk; leaving in order writes at once. */
const PACE = {
  timeline: { coalesceMs: 2000, spacingMs: 60_000 },
  statuses: { coalesceMs: 100, spacingMs: 10_000, burst: 12 },
  admitted: { coalesceMs: 20, spacingMs: 10_000, burst: 12 },
};

/** What the agent remembers across its own restarts. All of it can be lost without harm to pods. */
export interface Records {
  timeline: Timeline;
  statuses: StatusManager;
  /** Pods that were admitted, so that none is judged twice. */
  admitted: AdmittedRecord;
  /** Resolves when that is on disk, or cannot be brought there now. */
  saveAdmitted: () => Promise<void>;
  /** Resources that pods were granted, and those that were brought about, in upstream's files. */
  allocated: ResourceCheckpoint;
  actuated: ResourceCheckpoint;
  /** What the probes of an earlier run had found, as it was saved. */
  probes: FoundChanges;
  /** Keeps what the probes find from now on: a kill -9 must not cost readiness that was just said. Returns the function to call with each change. */
  keepProbes(snapshot: () => readonly unknown[]): (change: unknown) => void;
  /** Of the API server's, on a node of a cluster. */
  kept: Kept | undefined;
  /** The pods of this node as the API server told of them last; empty on a node of its own. */
  apiPods: RememberedPods;
  flush(): Promise<void>;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isStatuses = (value: unknown): value is Record<string, PodStatus> =>
  isObject(value) && Object.values(value).every(isObject);
const isTimeline = (value: unknown): value is Record<string, TimelineEntry[]> =>
  isObject(value) && Object.values(value).every(Array.isArray);

const isUids = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((uid) => typeof uid === 'string');
const isAdmitted = (value: unknown): value is AdmittedPods =>
  isObject(value) && isUids(value['admitted']) && isUids(value['preempted']);

/** Reads what an earlier run left; a file that is missing or corrupt is replaced by nothing, loudly. */
export async function openRecords(rootDir: string, world: World): Promise<Records> {
  const { files, clock, log } = world;
  const folder = `${rootDir}/agent-state`;
  // A disk that refuses must not keep the agent from its pods: it goes on without memory, and says so at each file.
  await files
    .makeDirectory(folder, 0o700)
    .catch((error: unknown) =>
      log.error("the folder of the agent's state cannot be made; a restart would forget recent state", {
        folder,
        error: errorMessage(error),
      }),
    );
  const probesPath = `${folder}/probes.jsonl`;
  const load = <T>(name: string, accept: (value: unknown) => value is T): Promise<T | undefined> =>
    StateFile.load({ path: `${folder}/${name}.json`, files, log }, accept);
  const [savedTimeline, savedStatuses, savedProbes, savedAdmitted] = await Promise.all([
    load('timeline', isTimeline),
    load('statuses', isStatuses),
    ChangeFile.load({ path: probesPath, files, log }),
    load('admitted', isAdmitted),
  ]);
  const apiPods = await openApiPods(folder, world);
  const kept = world.cluster === undefined ? undefined : await openKept(folder, world);
  const open: { flush(): Promise<void> }[] = kept === undefined ? [] : [kept];
  const openFile = (name: keyof typeof PACE, snapshot: () => unknown): StateFile<unknown> => {
    const file = new StateFile({ path: `${folder}/${name}.json`, files, clock, log, snapshot, ...PACE[name] });
    open.push(file);
    return file;
  };
  const keep = (name: keyof typeof PACE, snapshot: () => unknown): (() => void) => {
    const file = openFile(name, snapshot);
    return () => file.changed();
  };
  const timeline = new Timeline(clock, savedTimeline);
  const saveTimeline = keep('timeline', () => timeline.snapshot());
  timeline.onChange(() => saveTimeline());
  const statuses = new StatusManager(clock, savedStatuses);
  const saveStatuses = keep('statuses', () => statuses.snapshot());
  statuses.onChange(() => saveStatuses());
  const admitted = new AdmittedRecord(savedAdmitted);
  const admittedFile = openFile('admitted', () => admitted.snapshot());
  admitted.onChange(() => admittedFile.changed());
  const checkpoint = (name: string): Promise<ResourceCheckpoint> =>
    ResourceCheckpoint.open({ path: `${rootDir}/${name}`, files, clock, log });
  const [allocated, actuated] = await Promise.all([
    checkpoint('allocated_pods_state'),
    checkpoint('actuated_pods_state'),
  ]);
  return {
    timeline,
    statuses,
    admitted,
    saveAdmitted: async () => {
      await admittedFile.flush();
      // What the disk would not take is tried again; what it has is not written twice.
      admittedFile.changed();
    },
    probes: savedProbes,
    keepProbes: (snapshot) => {
      const file = new ChangeFile({ path: probesPath, files, clock, log, snapshot });
      open.push(file);
      return (change) => file.changed(change);
    },
    allocated,
    actuated,
    kept,
    apiPods: apiPods.pods,
    flush: async () => {
      await Promise.all([...open, apiPods.file, allocated, actuated].map((file) => file.flush()));
    },
  };
}

async function openApiPods(
  folder: string,
  { files, clock, log }: World,
): Promise<{ pods: RememberedPods; file: ChangeFile }> {
  const path = `${folder}/pods.jsonl`;
  const { entries } = await ChangeFile.load({ path, files, log });
  const pods = new RememberedPods(entries, (line) => file.changed(line));
  const file = new ChangeFile({ path, files, clock, log, snapshot: () => pods.snapshot() });
  return { pods, file };
}
