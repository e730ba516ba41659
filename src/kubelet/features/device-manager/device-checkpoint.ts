import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { AllocationCodec, DeviceCheckpointData } from './checkpoint-format.ts';
import { decodeDeviceCheckpoint, encodeDeviceCheckpoint } from './checkpoint-format.ts';

export interface DeviceCheckpointOptions {
  readonly path: string;
  readonly files: Pick<HostFiles, 'readText' | 'writeFileAtomic' | 'rename'>;
  readonly codec: AllocationCodec;
  readonly snapshot: () => DeviceCheckpointData;
  readonly clock: Clock;
  readonly log: Logger;
}

const COALESCE_MS = 100;
const RETRY_MS = 2000;
const LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Stores which container has which devices, in upstream's file. Invariants:
 * 1. An allocation is on disk before its pod is admitted (`save`). Other changes are written within 100 ms.
 * 2. The file is replaced atomically, so that a kill -9 leaves the old content or the new one.
 * 3. An invalid file is renamed with the suffix `.corrupt`, and its copy is used instead.
 */
export class DeviceCheckpoint {
  readonly #options: DeviceCheckpointOptions;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** A write that has not begun. It will contain all changes made until then. */
  #next: Promise<void> | undefined;
  #written = '';
  #failed = false;

  constructor(options: DeviceCheckpointOptions) {
    this.#options = options;
  }

  /**
   * Reads the file, or its copy if the file is corrupt. Returns undefined if neither is valid. If an operator removed
   * the file, the copy is not used.
   */
  static async load(
    options: Pick<DeviceCheckpointOptions, 'path' | 'files' | 'codec' | 'log'>,
  ): Promise<DeviceCheckpointData | undefined> {
    const { path, files, codec, log } = options;
    let text: string;
    try {
      text = await files.readText(path, LIMIT_BYTES);
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.error('the device checkpoint cannot be read, continuing without it', { path, error: errorMessage(error) });
      return undefined;
    }
    const data = decodeDeviceCheckpoint(text, codec);
    if (data !== undefined) return data;
    const aside = `${path}.corrupt`;
    const copy = await files.readText(copyOf(path), LIMIT_BYTES).catch(() => '');
    const saved = decodeDeviceCheckpoint(copy, codec);
    log.error('the device checkpoint is corrupt; it was set aside', {
      path,
      movedTo: aside,
      usesCopy: saved !== undefined,
    });
    try {
      if (saved === undefined) await files.rename(path, aside);
      else {
        // The file must exist at any time, because the next agent would treat its absence as an operator's decision.
        await files.writeFileAtomic(aside, text, 0o600, { survivesPowerCut: false });
        await files.writeFileAtomic(path, copy, 0o600, { survivesPowerCut: false });
      }
    } catch (error) {
      log.error('a corrupt checkpoint could not be set aside', { path, error: errorMessage(error) });
    }
    return saved;
  }

  /** Requests a write of a change within 100 ms. */
  changed(): void {
    this.#saveWithin(COALESCE_MS);
  }

  /** Resolves when the newest state is on disk, and rejects if it could not be written. */
  save(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      const write = this.#write();
      this.#writing = write.catch(() => undefined);
      return write;
    });
    return this.#next;
  }

  /** Resolves when pending changes are on disk or could not be written. */
  async flush(): Promise<void> {
    await (this.#timer === undefined ? this.#writing : this.save().catch(() => undefined));
  }

  #saveWithin(waitMs: number): void {
    this.#timer ??= this.#options.clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.save().catch(() => this.#saveWithin(RETRY_MS));
    });
  }

  async #write(): Promise<void> {
    const { path, files, codec, snapshot, log } = this.#options;
    const text = encodeDeviceCheckpoint(snapshot(), codec);
    if (text === this.#written) return;
    try {
      await files.writeFileAtomic(path, text, 0o600, { survivesPowerCut: false });
      this.#written = text;
      this.#failed = false;
      await files
        .writeFileAtomic(copyOf(path), text, 0o600, { survivesPowerCut: false })
        .catch((error: unknown) =>
          log.warn('the copy of the device checkpoint cannot be written', { path, error: errorMessage(error) }),
        );
    } catch (error) {
      if (!this.#failed)
        log.error('the device checkpoint cannot be written; pods that need devices wait', {
          path,
          error: errorMessage(error),
        });
      this.#failed = true;
      throw error;
    }
  }
}

const copyOf = (path: string): string => `${path}.copy`;
