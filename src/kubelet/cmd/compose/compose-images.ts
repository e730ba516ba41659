import { createImages } from '../../features/images/create-images.ts';
import { ImageGc } from '../../features/images/image-gc.ts';
import type { Actors, FeatureContext } from './compose-context.ts';

/** Pulling and collecting images: they share which image is promised to whom, and who may use what was pulled with a secret. */
export function composeImages({ settings, world, knowledge }: FeatureContext): Pick<Actors, 'images' | 'imageGc'> {
  const { clock, random, log, files, processes, images, runtime, disk, machine } = world;
  const { images: config } = settings.config;
  const { manager, leases, access } = createImages({
    settings: config,
    places: { rootDir: settings.rootDir, workingDir: machine.workingDir, homeDir: machine.homeDir },
    providers: settings.credentialProviders,
    providerBinDir: settings.credentialProviderBinDir,
    images,
    files,
    processes,
    secrets: { secret: (namespace, name) => knowledge.objects.get('Secret', namespace, name) },
    events: knowledge.recorder,
    activity: knowledge.board,
    clock,
    log,
  });
  const imageGc = new ImageGc({
    images,
    containers: runtime,
    disk,
    policy: { highPercent: config.gcHighPercent, lowPercent: config.gcLowPercent, minAgeMs: config.gcMinimumAgeMs, maxAgeMs: config.gcMaximumAgeMs },
    leases,
    access,
    // Nothing in the runtime tells which images are mounted.
    mountedImages: () => knowledge.store.pods().flatMap((pod) => (pod.spec.volumes ?? []).flatMap(({ image }) => (image?.reference === undefined ? [] : [image.reference]))),
    events: knowledge.recorder,
    world: { clock, random, log },
  });
  return { images: manager, imageGc };
}
