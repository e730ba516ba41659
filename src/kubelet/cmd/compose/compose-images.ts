import { createImages } from '../../features/images/create-images.ts';
import { ImageGc } from '../../features/images/image-gc.ts';
import { countPullRecords, noteEnsured } from '../../features/metrics/images.ts';
import { observedCredentialPlugins } from './observed-calls.ts';
import type { Actors, FeatureContext } from './compose-context.ts';

/** Pulling and collecting images: they share which image is promised to whom, and who may use what was pulled with a secret. */
export function composeImages({ settings, world, knowledge }: FeatureContext): Pick<Actors, 'images' | 'imageGc'> {
  const { clock, random, log, files, processes, images, runtime, disk, machine } = world;
  const { images: config } = settings.config;
  const { metrics } = knowledge.observation;
  const { manager, leases, access } = createImages({
    settings: config,
    places: { rootDir: settings.rootDir, workingDir: machine.workingDir, homeDir: machine.homeDir },
    providers: settings.credentialProviders,
    providerBinDir: settings.credentialProviderBinDir,
    images,
    files,
    processes: observedCredentialPlugins(processes, clock, metrics),
    secrets: { secret: (namespace, name) => knowledge.objects.get('Secret', namespace, name) },
    events: knowledge.recorder,
    activity: knowledge.board,
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
  const imageGc = new ImageGc({
    images,
    containers: runtime,
    disk,
    policy: {
      highPercent: config.gcHighPercent,
      lowPercent: config.gcLowPercent,
      minAgeMs: config.gcMinimumAgeMs,
      maxAgeMs: config.gcMaximumAgeMs,
    },
    leases,
    access,
    onRemoved: (reason) => metrics.main.count('kubelet_image_garbage_collected_total', { reason }),
    // Nothing in the runtime tells which images are mounted.
    mountedImages: () =>
      knowledge.store
        .pods()
        .flatMap((pod) =>
          (pod.spec.volumes ?? []).flatMap(({ image }) => (image?.reference === undefined ? [] : [image.reference])),
        ),
    events: knowledge.recorder,
    world: { clock, random, log },
  });
  return { images: manager, imageGc };
}
