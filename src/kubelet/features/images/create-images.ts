import type { Pod } from '../../../api/core/pod.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { Processes } from '../../ports/processes.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { AccountAccess } from './credentials/account-tokens.ts';
import { CredentialSources } from './credentials/credential-sources.ts';
import { ExecCredentialProvider } from './credentials/exec-provider.ts';
import type { NodeCredentialPlaces } from './credentials/node-credentials.ts';
import type { CredentialProvider } from './credentials/provider-config.ts';
import type { ImageGcParts } from './image-gc.ts';
import { ImageGc } from './image-gc.ts';
import { ImageLeases } from './image-leases.ts';
import type { EnsureSeen } from './image-manager.ts';
import { ImageManager } from './image-manager.ts';
import { ImagePresence } from './image-presence.ts';
import { ImagePuller } from './image-puller.ts';
import type { Activity, SecretLookup } from './interfaces.ts';
import type { AccessCheck } from './pull-access.ts';
import { PullAccess } from './pull-access.ts';
import { PullBackoff } from './pull-backoff.ts';
import { PullQueue } from './pull-queue.ts';
import { PullRecordFiles } from './pull-records.ts';
import type { VerificationPolicy } from './pull-verification.ts';

/** The settings, as in ImagesConfig of model/config. */
export interface ImageSettings {
  readonly pullQps: number;
  readonly pullBurst: number;
  readonly serialPulls: boolean;
  readonly maxParallelPulls: number | undefined;
  readonly verificationPolicy: VerificationPolicy;
  readonly preloadedAllowlist: readonly string[];
}

export interface CreateImagesOptions {
  readonly settings: ImageSettings;
  readonly places: NodeCredentialPlaces;
  /** The result of loadCredentialProviders, with the folder of the plugins. */
  readonly providers: readonly CredentialProvider[];
  readonly providerBinDir: string;
  readonly images: ImageRuntime;
  readonly files: HostFiles;
  readonly processes: Processes;
  readonly secrets: SecretLookup;
  /** The access to service accounts, for plugins that get their tokens. */
  readonly accounts: AccountAccess;
  readonly events: EventRecorder;
  readonly activity: Activity;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onEnsured?: (seen: EnsureSeen) => void;
  readonly onAccessCheck?: (result: AccessCheck) => void;
}

/** Creates the image manager and the parts that it shares with the image garbage collection. */
export function createImages(options: CreateImagesOptions): {
  manager: ImageManager;
  leases: ImageLeases;
  access: PullAccess;
} {
  const { settings, places, images, files, processes, secrets, accounts, events, activity, clock, log } = options;
  const providers = options.providers.map(
    (provider) => new ExecCredentialProvider(provider, { binDir: options.providerBinDir, processes, clock }),
  );
  const credentials = new CredentialSources({ secrets, files, places, providers, accounts, events, log });
  const records = new PullRecordFiles({ files, log, rootDir: places.rootDir });
  const access = new PullAccess({
    records,
    runtime: images,
    policy: settings.verificationPolicy,
    allowlist: settings.preloadedAllowlist,
    clock,
    log,
    onCheck: options.onAccessCheck,
  });
  const leases = new ImageLeases(clock);
  const queue = new PullQueue({
    clock,
    qps: settings.pullQps,
    burst: settings.pullBurst,
    maxParallel: settings.serialPulls ? 1 : settings.maxParallelPulls,
  });
  const puller = new ImagePuller({ runtime: images, queue, access, clock });
  const manager = new ImageManager({
    presence: new ImagePresence(images),
    puller,
    credentials,
    access,
    backoff: new PullBackoff(clock),
    leases,
    events,
    activity,
    clock,
    log,
    onEnsured: options.onEnsured,
  });
  return { manager, leases, access };
}

export interface CreateImageGcParts extends Omit<ImageGcParts, 'policy' | 'mountedImages' | 'platform'> {
  readonly config: Pick<
    KubeletConfig['images'],
    'gcHighPercent' | 'gcLowPercent' | 'gcMinimumAgeMs' | 'gcMaximumAgeMs'
  >;
  /** The store of the wanted pods. */
  readonly store: { pods(): readonly Pod[] };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the garbage collection of images as this node is configured. */
export function createImageGc({ config, store, clock, random, log, ...parts }: CreateImageGcParts): ImageGc {
  return new ImageGc({
    ...parts,
    policy: {
      highPercent: config.gcHighPercent,
      lowPercent: config.gcLowPercent,
      minAgeMs: config.gcMinimumAgeMs,
      maxAgeMs: config.gcMaximumAgeMs,
    },
    mountedImages: () => mountedImages(store.pods()),
    platform: { clock, random, log },
  });
}

/** Returns the images that pods mount as volumes. The runtime does not report that they are in use. */
export function mountedImages(pods: readonly Pod[]): string[] {
  return pods.flatMap(({ spec }) =>
    (spec.volumes ?? []).flatMap(({ image }) => (image?.reference === undefined ? [] : [image.reference])),
  );
}
