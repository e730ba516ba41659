import type { Pod } from '../../../api/core/pod.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { PodSource } from '../../model/pod-update.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import type { PodGates } from './drop-disabled-fields.ts';
import { AcceptedManifests } from './accepted-manifests.ts';
import { FileSource } from './file-source.ts';
import { HttpSource } from './http-source.ts';
import { judgeManifestPod } from './judge-manifest-pod.ts';
import { LastGoodManifests } from './last-good.ts';
import type { ManifestRules } from './manifest-reader.ts';
import type { ManifestObjects } from './manifest-objects.ts';
import type { PodSourceReader } from './pod-sources.ts';
import { PodSources } from './pod-sources.ts';

/** The part of the configuration that determines the sources. */
export interface SourceChoice {
  readonly config: Pick<KubeletConfig['sources'], 'staticPodPath' | 'staticPodUrl'>;
  /** Whether manifests are accepted over HTTP. */
  readonly manifestServer: boolean;
  /** Whether there is no API server. */
  readonly standalone: boolean;
}

/** Returns the sources of this configuration. All of them must report before anything is cleaned up. */
export function podSourceNames({ config, manifestServer, standalone }: SourceChoice): PodSource[] {
  const names: PodSource[] = [];
  if (config.staticPodPath !== '') names.push('file');
  if (config.staticPodUrl !== '') names.push('http');
  if (manifestServer) names.push('server');
  if (!standalone) names.push('api');
  return names;
}

/** Receives all pods of one source. PodConfig implements it. */
type SetPods = (source: PodSource, pods: readonly Pod[], report?: { complete: boolean }) => void;

export interface CreatePodSourcesParts extends SourceChoice {
  readonly config: KubeletConfig['sources'];
  readonly gates: PodGates;
  readonly nodeName: string;
  readonly rootDir: string;
  /** The source of the API's pods; undefined on a standalone node. */
  readonly api: { start(): void; stop(): Promise<void> } | undefined;
  readonly setPods: SetPods;
  /** Receives the other objects of manifests. */
  readonly objects: ManifestObjects;
  readonly files: HostFiles;
  readonly dial: Pick<NetDial, 'fetch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the sources of pods of this configuration. It starts none. */
export function createPodSources(parts: CreatePodSourcesParts): PodSources {
  const { gates, nodeName, standalone, rootDir, objects, api, setPods, files, clock, log } = parts;
  const rules: ManifestRules = {
    nodeName,
    standalone,
    validate: judgeManifestPod,
    mayReference: !gates.enabled('PreventStaticPodAPIReferences'),
  };
  const lastGood = new LastGoodManifests({ folder: `${rootDir}/manifests-last-good`, files, clock, log });
  const names = podSourceNames(parts);
  const readers: PodSourceReader[] = [];
  if (names.includes('file')) readers.push(fileSource(parts, rules, lastGood));
  if (names.includes('http')) readers.push(httpSource(parts, rules));
  if (api !== undefined) readers.push({ start: () => api.start(), stop: () => api.stop(), problems: () => [] });
  const accepted = names.includes('server')
    ? new AcceptedManifests({
        folder: `${rootDir}/manifests-accepted`,
        rules,
        files,
        log,
        objects,
        setPods: (pods) => setPods('server', pods),
      })
    : undefined;
  return new PodSources({ readers, accepted, rules, flush: () => lastGood.flush(), log });
}

function fileSource(parts: CreatePodSourcesParts, rules: ManifestRules, lastGood: LastGoodManifests): FileSource {
  const { config, setPods, objects, files, clock, random, log } = parts;
  return new FileSource({
    path: config.staticPodPath,
    periodMs: config.filePeriodMs,
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

function httpSource(parts: CreatePodSourcesParts, rules: ManifestRules): HttpSource {
  const { config, setPods, objects, dial, clock, random, log } = parts;
  return new HttpSource({
    url: config.staticPodUrl,
    headers: Object.entries(config.staticPodUrlHeaders).flatMap(([name, values]) =>
      values.map((value) => ({ name, value })),
    ),
    periodMs: config.httpPeriodMs,
    rules,
    dial,
    clock,
    random,
    log,
    objects,
    setPods: (pods) => setPods('http', pods),
  });
}
