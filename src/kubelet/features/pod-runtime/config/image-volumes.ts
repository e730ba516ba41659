import type { Volume } from '../../../../api/core/volume.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { Mount, RuntimeVersion } from '../../../ports/runtime.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import type { ImageOutcome } from '../interfaces.ts';
import type { Tracked } from '../start-pacer.ts';
import { track } from '../start-pacer.ts';
import type { SyncRun } from '../sync-run.ts';

export type MountedImage = NonNullable<Mount['image']>;

/** Image volumes by name, each pulled; or the failure of the one that cannot be pulled. */
export type ImageVolumesOutcome =
  | { kind: 'present'; images: ReadonlyMap<string, MountedImage> }
  | Extract<ImageOutcome, { kind: 'failed' }>;

/**
 * The first versions of containerd that mount images, and parts of images. Older versions ignore the field: they show
 * an empty folder, or the whole image instead of the part.
 */
const containerdSince = { image: [2, 1], part: [2, 2] } as const;

/**
 * Pulls the images that containers mount as volumes (upstream: kuberuntime_manager.go getImageVolumes). Each is pulled
 * by its own policy with the pod's secrets, in parallel with everything else. A failure is reported when the first
 * container that uses the image is started.
 */
export class ImageVolumes {
  readonly #deps: Pick<PodRuntimeDeps, 'images' | 'runtime'>;

  constructor(deps: Pick<PodRuntimeDeps, 'images' | 'runtime'>) {
    this.#deps = deps;
  }

  /** Starts to pull the images that the container mounts. */
  begin(run: SyncRun, container: AnyContainer, runtimeHandler: () => Promise<string>): void {
    for (const volume of usedBy(run, container)) this.#pull(run, volume, runtimeHandler);
  }

  /** Waits for the images. Rejects with `Aborted`, and with `Unimplemented` if the runtime cannot mount images. */
  async ready(
    run: SyncRun,
    container: AnyContainer,
    runtimeHandler: () => Promise<string>,
  ): Promise<ImageVolumesOutcome> {
    const volumes = usedBy(run, container);
    const images = new Map<string, MountedImage>();
    if (volumes.length === 0) return { kind: 'present', images };
    // The version is read each time, because the runtime may be replaced while the agent runs.
    const problem = unsupported(
      await this.#deps.runtime.version({ signal: run.signal }),
      mountsPart(container, volumes),
    );
    if (problem !== undefined) throw new KubeletError('Unimplemented', problem);
    for (const volume of volumes) {
      const outcome = await run.waitFor(this.#pull(run, volume, runtimeHandler));
      if (outcome.kind === 'failed') return outcome;
      images.set(volume.name, { image: volume.image?.reference ?? '', imageRef: outcome.imageRef });
    }
    return { kind: 'present', images };
  }

  #pull(run: SyncRun, volume: Volume, runtimeHandler: () => Promise<string>): Tracked<ImageOutcome> {
    const known = run.imageVolumes.get(volume.name);
    if (known !== undefined) return known;
    const { pod, signal } = run;
    const { reference = '', pullPolicy } = volume.image ?? {};
    const ensure = async (): Promise<ImageOutcome> =>
      this.#deps.images.ensureVolume({
        pod,
        volume: volume.name,
        reference,
        pullPolicy,
        runtimeHandler: await runtimeHandler(),
        signal,
      });
    const pull = track(ensure());
    run.imageVolumes.set(volume.name, pull);
    return pull;
  }
}

function usedBy(run: SyncRun, container: AnyContainer): Volume[] {
  const names = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  return (run.pod.spec.volumes ?? []).filter(({ name, image }) => image !== undefined && names.has(name));
}

function mountsPart(container: AnyContainer, volumes: readonly Volume[]): boolean {
  const names = new Set(volumes.map(({ name }) => name));
  return (container.volumeMounts ?? []).some(
    ({ name, subPath = '', subPathExpr = '' }) => names.has(name) && `${subPath}${subPathExpr}` !== '',
  );
}

function unsupported({ name, version }: RuntimeVersion, part: boolean): string | undefined {
  if (name === 'docker') return 'Docker cannot mount images as volumes: image volumes need containerd 2.1 or later';
  if (name !== 'containerd') return undefined;
  const [major = 0, minor = 0] = version
    .replace(/^v/, '')
    .split('.')
    .map((number) => Number.parseInt(number, 10));
  const lacks = ([wantedMajor, wantedMinor]: readonly [number, number]): boolean =>
    major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
  const needs = (what: string, since: readonly [number, number], cannot: string): string =>
    `${what} need containerd ${since.join('.')} or later: containerd ${version} of this node cannot mount ${cannot}`;
  if (lacks(containerdSince.image)) return needs('image volumes', containerdSince.image, 'images');
  return part && lacks(containerdSince.part)
    ? needs('subPaths of image volumes', containerdSince.part, 'parts of images')
    : undefined;
}
