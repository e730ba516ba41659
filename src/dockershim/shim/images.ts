import { Buffer } from 'node:buffer';
import type { Clock } from '../../base/clock.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import type { AuthConfig, FilesystemUsage, Image, ImageStatusResponse } from '../../cri/generated/cri-v1.ts';
import type { DockerEngine, Filters } from '../engine/docker-engine.ts';
import type { ImageInspect, RegistryAuth } from '../engine/docker-types.ts';
import { nanosOf } from '../plan/docker-time.ts';
import { stripImagePrefix } from '../plan/image-names.ts';
import { imageOf, listedImage } from '../plan/image-status.ts';
import type { ShimHost } from './shim-ports.ts';

export interface ImagesParts {
  readonly engine: DockerEngine;
  readonly host: ShimHost;
  readonly clock: Clock;
  /** The image of sandboxes. */
  readonly pauseImage: string;
  /** A pull without progress for this long is aborted. */
  readonly progressTimeoutMs: number;
}

/** Docker's images in the CRI's terms. */
export class Images {
  readonly #parts: ImagesParts;

  constructor(parts: ImagesParts) {
    this.#parts = parts;
  }

  async list(name: string, signal?: AbortSignal): Promise<readonly Image[]> {
    const filters: Filters = name === '' ? {} : { reference: [stripImagePrefix(name)] };
    const images = await this.#parts.engine.listImages(filters, { signal });
    return images.map((image) => listedImage(image, this.#isPinned));
  }

  /** A missing image is not an error: the response has no image. */
  async status(name: string, isVerbose: boolean, signal?: AbortSignal): Promise<ImageStatusResponse> {
    const found = await this.inspect(name, signal);
    if (found === undefined) return { image: undefined, info: {} };
    const info: Record<string, string> = isVerbose
      ? { info: JSON.stringify({ labels: found.Config?.Labels ?? {}, imageSpec: { config: found.Config ?? {} } }) }
      : {};
    return { image: imageOf(found, this.#isPinned), info };
  }

  /** The id of the image. Rejects with the registry's message, or with `Timeout` when the pull makes no progress. */
  async pull(name: string, auth: AuthConfig | undefined, signal?: AbortSignal): Promise<string> {
    const { engine, clock, progressTimeoutMs } = this.#parts;
    const silence = new AbortController();
    const startTimer = (): { cancel(): void } => clock.setTimer(progressTimeoutMs, () => silence.abort());
    let timer = startTimer();
    try {
      const ended = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
      for await (const { error } of engine.pullImage(name, registryAuth(auth), ended)) {
        if (error !== undefined) throw pullError(name, error);
        timer.cancel();
        timer = startTimer();
      }
    } catch (error) {
      if (!silence.signal.aborted) throw error;
      throw new KubeletError('Timeout', `pulling ${name}: no progress for ${progressTimeoutMs / 1000} s`, {
        cause: error,
      });
    } finally {
      timer.cancel();
    }
    return (await engine.inspectImage(name, { signal })).Id;
  }

  /** Removing an id removes all its names. Removing a name may leave the image with another name. */
  async remove(name: string, signal?: AbortSignal): Promise<void> {
    const { engine } = this.#parts;
    const found = await this.inspect(name, signal);
    if (found === undefined) return;
    const names = [...(found.RepoTags ?? []), ...(found.RepoDigests ?? [])];
    for (const each of names) await removeName(engine, each, signal);
    await removeName(engine, found.Id, signal);
  }

  /** The file system of both images and writable layers. */
  async filesystem(signal?: AbortSignal): Promise<FilesystemUsage> {
    const { engine, host, clock } = this.#parts;
    const { DockerRootDir: mountpoint = '/var/lib/docker' } = await engine.info({ signal });
    const { usedBytes, inodesUsed } = await host.diskUsage(mountpoint);
    return {
      timestamp: nanosOf(clock.nowMs()),
      fsId: { mountpoint },
      usedBytes: { value: BigInt(usedBytes) },
      inodesUsed: { value: BigInt(inodesUsed) },
    };
  }

  async inspect(name: string, signal?: AbortSignal): Promise<ImageInspect | undefined> {
    const asked = stripImagePrefix(name);
    if (asked === '') throw new KubeletError('Invalid', 'the image has no name');
    try {
      return await this.#parts.engine.inspectImage(asked, { signal });
    } catch (error) {
      // Docker reports `Invalid` for a name that it cannot parse; such an image does not exist.
      if (isKind(error, 'NotFound') || isKind(error, 'Invalid')) return undefined;
      throw error;
    }
  }

  readonly #isPinned = (names: readonly string[]): boolean => names.includes(this.#parts.pauseImage);
}

async function removeName(engine: DockerEngine, name: string, signal?: AbortSignal): Promise<void> {
  try {
    await engine.removeImage(name, { signal });
  } catch (error) {
    // Removing the last name removes the image.
    if (!isKind(error, 'NotFound')) throw error;
  }
}

function registryAuth(auth: AuthConfig | undefined): RegistryAuth | undefined {
  if (auth === undefined) return undefined;
  const decoded = Buffer.from(auth.auth, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return {
    username: auth.username || (colon === -1 ? '' : decoded.slice(0, colon)),
    password: auth.password || (colon === -1 ? '' : decoded.slice(colon + 1)),
    serveraddress: auth.serverAddress,
    identitytoken: auth.identityToken,
    registrytoken: auth.registryToken,
  };
}

function pullError(name: string, words: string): KubeletError {
  const isMissing = /not found|manifest unknown|does not exist/i.test(words);
  return new KubeletError(isMissing ? 'NotFound' : 'Unavailable', `pulling ${name}: ${words}`, { op: 'PullImage' });
}
