import { createPodSources, podSourceNames } from '../../features/pod-config/create-pod-sources.ts';
import type { PodSources } from '../../features/pod-config/pod-sources.ts';
import { createFieldDropper } from '../../features/pod-config/drop-disabled-fields.ts';
import { PodConfig } from '../../features/pod-config/pod-config.ts';
import { RuntimeClassAdmission } from '../../features/pod-config/runtime-class-admission.ts';
import type { ClusterPods } from '../../loop/cluster-pods.ts';
import type { Given, KnownParts } from './kubelet-parts.ts';
import { createClusterObjects } from '../../features/cluster-objects/create-cluster-objects.ts';
import { ManifestObjects } from '../../features/pod-config/manifest-objects.ts';
import { createTokens } from '../../features/tokens/create-tokens.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import type { Platform } from './platform.ts';

/**
 * Creates PodConfig and, on a standalone node, the check of runtime classes before it. The sources send their pods to
 * it.
 */
export function composePodConfig(
  { settings, platform, queue }: Given,
  { recorder, localObjects }: Pick<KnownParts, 'recorder' | 'localObjects'>,
): Pick<KnownParts, 'podConfig' | 'runtimeClasses' | 'sourcesReady'> {
  const { clock, log, cluster } = platform;
  const { config, manifestServer } = settings;
  const podConfig = new PodConfig({
    sources: podSourceNames({ config: config.sources, manifestServer, standalone: cluster === undefined }),
    clock,
    recorder,
    log,
    onUpdate: (update) => queue.post({ kind: 'configuration', update }),
  });
  podConfig.onSourcesReady(() => queue.post({ kind: 'housekeeping' }));
  const dropFields = createFieldDropper(config.gates);
  const runtimeClasses = new RuntimeClassAdmission({
    lookup: (name) => localObjects.get('RuntimeClass', '', name),
    setSource: (source, pods, report) => podConfig.setSource(source, dropFields(pods), report),
    log,
  });
  localObjects.onChange(({ kind, name }) => {
    if (kind === 'RuntimeClass') runtimeClasses.classChanged(name);
  });
  return { podConfig, runtimeClasses, sourcesReady: () => podConfig.sourcesReady() && !queue.configurationWaits() };
}

export function composeSources(
  { settings, platform, runtimeClasses, localObjects }: Given<'runtimeClasses' | 'localObjects'>,
  clusterPods: ClusterPods | undefined,
): PodSources {
  const { cluster, machine, files, dial, clock, random, log } = platform;
  const { config, manifestServer, rootDir } = settings;
  return createPodSources({
    config: config.sources,
    gates: config.gates,
    manifestServer,
    standalone: cluster === undefined,
    nodeName: machine.nodeName,
    rootDir,
    api: clusterPods?.source,
    setPods: (source, pods, report) => runtimeClasses.setPods(source, pods, report),
    objects: localObjects,
    files,
    dial,
    clock,
    random,
    log,
  });
}

/** Creates the sources of objects and of pod tokens. */
export function composeClusterObjects(
  { config }: Pick<ComposeSettings, 'config'>,
  { cluster, clock, random, log }: Platform,
  { kept }: Pick<Records, 'kept'>,
): Pick<KnownParts, 'objects' | 'localObjects' | 'clusterObjects' | 'tokens' | 'podObjects'> {
  const localObjects = new ManifestObjects(log);
  const tokens = createTokens({ client: cluster?.objects, kept: kept?.tokens, clock, random, log });
  const { clusterObjects, podObjects } = createClusterObjects({
    client: cluster?.objects,
    strategy: config.sources.objectChangeDetection,
    kept: kept?.objects,
    onUnregistered: (uid) => tokens.forget(uid),
    clock,
    random,
    log,
  });
  return { objects: clusterObjects ?? localObjects, localObjects, clusterObjects, tokens, podObjects };
}
