import { createAccountAccess } from '../../features/images/credentials/account-tokens.ts';
import { createImageGc, createImages } from '../../features/images/create-images.ts';
import { countPullRecords, noteEnsured } from '../../features/metrics/images.ts';
import { observedCredentialPlugins } from '../../features/metrics/observed-calls.ts';
import type { FeatureParts, Given } from './kubelet-parts.ts';

/**
 * Creates the image manager and image collection. They share the leases of images, and which pods may use an image that
 * was pulled with a secret.
 */
export function composeImages(
  parts: Given<'activityTracker' | 'objects' | 'recorder' | 'store' | 'tokens'>,
): Pick<FeatureParts, 'images' | 'imageGc'> {
  const { settings, platform } = parts;
  const { clock, random, log, files, processes, images, runtime, disk, machine } = platform;
  const { images: config } = settings.config;
  const { metrics } = parts.observation;
  const { manager, leases, access } = createImages({
    settings: config,
    places: { rootDir: settings.rootDir, workingDir: machine.workingDir, homeDir: machine.homeDir },
    providers: settings.credentialProviders,
    providerBinDir: settings.credentialProviderBinDir,
    images,
    files,
    processes: observedCredentialPlugins(processes, clock, metrics),
    secrets: { secret: (namespace, name) => parts.objects.get('Secret', namespace, name) },
    accounts: createAccountAccess(platform.cluster?.objects, parts.tokens),
    events: parts.recorder,
    activity: parts.activityTracker,
    clock,
    log,
    onEnsured: (seen) => noteEnsured(metrics, seen),
    onAccessCheck: (result) => metrics.main.count('kubelet_imagemanager_image_mustpull_checks_total', { result }),
  });
  metrics.main.collect(() =>
    countPullRecords(metrics, access.sizes(), {
      maxPods: settings.config.node.maxPods,
      maxParallelPulls: config.maxParallelPulls ?? 0,
    }),
  );
  const imageGc = createImageGc({
    config,
    images,
    containers: runtime,
    disk,
    leases,
    access,
    pinnedPrefixes: settings.pinnedImages ?? [],
    onRemoved: (reason) => metrics.main.count('kubelet_image_garbage_collected_total', { reason }),
    store: parts.store,
    events: parts.recorder,
    tracer: parts.platform.tracer,
    clock,
    random,
    log,
  });
  return { images: manager, imageGc };
}
