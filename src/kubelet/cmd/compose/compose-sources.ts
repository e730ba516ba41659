import { errorMessage } from '../../../base/errors.ts';
import { validatePod } from '../../../api/validation/pod/validate-pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { AcceptedManifests } from '../../features/pod-config/accepted-manifests.ts';
import { FileSource } from '../../features/pod-config/file-source.ts';
import { HttpSource } from '../../features/pod-config/http-source.ts';
import { LastGoodManifests } from '../../features/pod-config/last-good.ts';
import { formatProblem, type ManifestProblem, type ManifestRules } from '../../features/pod-config/manifest-reader.ts';
import type { ObjectStore } from '../../features/pod-config/object-store.ts';
import type { Problem } from '../../features/server/local-api.ts';
import { unsupportedFields } from '../../model/parity/unsupported-fields.ts';
import type { PodSource } from '../../model/pod-update.ts';
import type { ComposeSettings } from './compose-settings.ts';
import type { World } from './world.ts';

/** One source of pods, seen from outside. */
interface RunningSource {
  start(): Promise<void> | void;
  stop(): Promise<void>;
  problems(): readonly ManifestProblem[];
}

export interface Sources {
  rules: ManifestRules;
  /** After `start`: the manifest server's, once those accepted earlier were read. undefined without one, and when they cannot be read: then none may be accepted. */
  accepted(): Promise<AcceptedManifests | undefined>;
  /** Starts every source; one that cannot start is said and listed, and holds up no other. Settles when all have been read once. */
  start(): Promise<void>;
  stop(): Promise<void>;
  problems(): Problem[];
}

/** Which sources this configuration names: all of them must have reported before anything is cleaned up. */
export function sourceNames(
  { config, manifestServer }: ComposeSettings,
  { cluster }: Pick<World, 'cluster'>,
): PodSource[] {
  const names: PodSource[] = [];
  if (config.sources.staticPodPath !== '') names.push('file');
  if (config.sources.staticPodUrl !== '') names.push('http');
  if (manifestServer) names.push('server');
  if (cluster !== undefined) names.push('api');
  return names;
}

/** What the API server's validation says, and what this agent cannot do yet and must not pretend to. */
function judgePod(pod: Pod): { field: string; message: string }[] {
  const refused = unsupportedFields(pod).filter((field) => field.severity === 'reject');
  const invalid = validatePod(pod).map((error) => ({ field: error.field, message: error.message }));
  return [
    ...invalid,
    ...refused.map((field) => ({
      field: field.path,
      message: `Forbidden: not supported by this agent yet: ${field.note}`,
    })),
  ];
}

interface SourceContext {
  settings: ComposeSettings;
  world: World;
  rules: ManifestRules;
  setPods: SetPods;
  objects: ObjectStore;
}

/** All pods of one source, as PodConfig takes them. */
type SetPods = (source: PodSource, pods: readonly Pod[], report?: { complete: boolean }) => void;

export function composeSources(
  settings: ComposeSettings,
  world: World,
  parts: { setPods: SetPods; objects: ObjectStore; api?: { start(): void; stop(): Promise<void> } },
): Sources {
  const { files, clock, log } = world;
  const rules: ManifestRules = {
    nodeName: world.machine.nodeName,
    standalone: world.cluster === undefined,
    validate: judgePod,
  };
  const context: SourceContext = { settings, world, rules, ...parts };
  const lastGood = new LastGoodManifests({ folder: `${settings.rootDir}/manifests-last-good`, files, clock, log });
  const sources: RunningSource[] = [];
  if (settings.config.sources.staticPodPath !== '') sources.push(composeFileSource(context, lastGood));
  if (settings.config.sources.staticPodUrl !== '') sources.push(composeHttpSource(context));
  if (parts.api !== undefined)
    sources.push({ start: () => parts.api?.start(), stop: async () => parts.api?.stop(), problems: () => [] });
  const accepted = settings.manifestServer ? composeAccepted(context) : undefined;
  if (accepted !== undefined)
    sources.push({ start: () => accepted.start(), stop: async () => undefined, problems: () => accepted.problems() });
  const failed = new Map<RunningSource, string>();
  const begin = async (source: RunningSource): Promise<void> => {
    try {
      await source.start();
    } catch (error) {
      failed.set(source, `a source of pods cannot be read, its pods are left as they are: ${errorMessage(error)}`);
      log.error('a source of pods cannot be read; its pods are left as they are until the agent starts again', {
        error: errorMessage(error),
      });
    }
  };
  let acceptedRead: Promise<void> = Promise.resolve();
  return {
    rules,
    accepted: async () => {
      await acceptedRead;
      return failed.has(sources.at(-1) as RunningSource) ? undefined : accepted;
    },
    start: async () => {
      const reads = sources.map(begin);
      if (accepted !== undefined) acceptedRead = reads.at(-1) as Promise<void>;
      await Promise.all(reads);
    },
    stop: async () => {
      await Promise.all(sources.map((source) => source.stop()));
      await lastGood.flush();
    },
    problems: () => [
      ...[...failed.values()].map((message) => ({ message, blocking: true })),
      ...sources
        .flatMap((source) => source.problems())
        .map((problem) => ({ message: formatProblem(problem), blocking: problem.severity !== 'warning' })),
    ],
  };
}

function composeFileSource(
  { settings, world, rules, setPods, objects }: SourceContext,
  lastGood: LastGoodManifests,
): FileSource {
  const { clock, random, log, files } = world;
  const { staticPodPath: path, filePeriodMs: periodMs } = settings.config.sources;
  return new FileSource({
    path,
    periodMs,
    rules,
    files,
    clock,
    random,
    log,
    objects,
    lastGood,
    setPods: (pods, report) => setPods('file', pods, report),
  });
}

function composeHttpSource({ settings, world, rules, setPods, objects }: SourceContext): HttpSource {
  const { clock, random, log, dial } = world;
  const { staticPodUrl: url, httpPeriodMs: periodMs, staticPodUrlHeaders } = settings.config.sources;
  const headers = Object.entries(staticPodUrlHeaders).flatMap(([name, values]) =>
    values.map((value) => ({ name, value })),
  );
  return new HttpSource({
    url,
    headers,
    periodMs,
    rules,
    dial,
    clock,
    random,
    log,
    objects,
    setPods: (pods) => setPods('http', pods),
  });
}

function composeAccepted({ settings, world, rules, setPods, objects }: SourceContext): AcceptedManifests {
  const { log, files } = world;
  return new AcceptedManifests({
    folder: `${settings.rootDir}/manifests-accepted`,
    rules,
    files,
    log,
    objects,
    setPods: (pods) => setPods('server', pods),
  });
}
