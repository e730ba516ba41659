import { errorMessage, isKind } from '../../../base/errors.ts';
import { inBackground } from '../../../base/background.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { DraDriver } from '../../ports/dra-drivers.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { DeviceHealth } from './device-health.ts';
import { DeviceHealthCache, healthKey } from './device-health.ts';
import { decodeHealth, encodeHealth } from './health-checkpoint.ts';

export interface HealthWatcherParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly files: Pick<HostFiles, 'readText' | 'writeFileAtomic'>;
  /** The path of the state file, `<root>/dra_health_state`. */
  readonly path: string;
  /** Called when the health of devices of the driver changed. The keys are `pool/device`. */
  readonly onChange: (driver: string, keys: ReadonlySet<string>) => void;
}

/** The pause before a stream is opened again (upstream: DRAPluginManager add). */
const RETRY_MS = 5000;
const LIMIT_BYTES = 16 * 1024 * 1024;
const MODE = 0o600;

/** Follows the health streams of connected drivers (upstream: cm/dra HandleWatchResourcesStream). */
export class HealthWatcher {
  readonly #parts: HealthWatcherParts;
  readonly #cache = new DeviceHealthCache();
  readonly #streams = new Map<DraDriver, AbortController>();
  /** The number of reporting instances by driver. */
  readonly #open = new Map<string, number>();
  readonly #timers = new Map<string, Timer>();
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: HealthWatcherParts) {
    this.#parts = parts;
  }

  /** Reads the state of an earlier run, so that a restart does not change the status of pods. Never rejects. */
  async start(): Promise<void> {
    const { files, path, clock, log } = this.#parts;
    try {
      const known = decodeHealth(await files.readText(path, LIMIT_BYTES), clock.nowMs());
      for (const [driver, devices] of known) {
        for (const { ageMs, ...device } of devices) this.#cache.update(driver, [device], clock.monotonicMs() - ageMs);
        this.#arm(driver);
      }
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.warn('the health of devices cannot be read, continuing without it', { path, error: errorMessage(error) });
    }
  }

  /** Resolves when the state is written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const control of this.#streams.values()) control.abort();
    for (const timer of this.#timers.values()) timer.cancel();
    await this.#writing;
  }

  /** Handles an instance of a driver that connected or disconnected. */
  connection(driver: string, instance: DraDriver, isConnected: boolean): void {
    this.#streams.get(instance)?.abort();
    this.#streams.delete(instance);
    if (!isConnected || this.#isStopped) return;
    const control = new AbortController();
    this.#streams.set(instance, control);
    inBackground(this.#parts.log, 'watching the health of devices', this.#follow(driver, instance, control.signal));
  }

  /** Returns the health of a device; undefined if it is not known. */
  health(driver: string, poolName: string, deviceName: string): DeviceHealth | undefined {
    return this.#cache.get(driver, healthKey(poolName, deviceName), this.#parts.clock.monotonicMs());
  }

  async #follow(driver: string, instance: DraDriver, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#open.set(driver, (this.#open.get(driver) ?? 0) + 1);
      let isOffered = true;
      try {
        for await (const reports of instance.watchHealth(signal)) {
          if (signal.aborted) break;
          this.#changed(driver, this.#cache.update(driver, reports, this.#parts.clock.monotonicMs()));
        }
      } catch (error) {
        isOffered = !isKind(error, 'Unimplemented');
        if (isOffered && !signal.aborted)
          this.#parts.log.info('the stream of the health of devices failed', { driver, error: errorMessage(error) });
      }
      this.#ended(driver);
      if (!isOffered || signal.aborted) return;
      await this.#pause(signal);
    }
  }

  /** Drops the reports of a driver when its last instance disconnects. A restart of the agent does not drop them. */
  #ended(driver: string): void {
    const left = (this.#open.get(driver) ?? 1) - 1;
    if (left > 0) {
      this.#open.set(driver, left);
      return;
    }
    this.#open.delete(driver);
    if (!this.#isStopped) this.#changed(driver, this.#cache.clear(driver));
  }

  #changed(driver: string, keys: ReadonlySet<string>): void {
    this.#arm(driver);
    if (keys.size === 0) return;
    this.#save();
    this.#parts.onChange(driver, keys);
  }

  /** Sets the timer of the driver to the time when its first report expires. */
  #arm(driver: string): void {
    const { clock } = this.#parts;
    this.#timers.get(driver)?.cancel();
    this.#timers.delete(driver);
    const endMs = this.#cache.nextEndMs(driver);
    if (endMs === undefined || this.#isStopped) return;
    const fire = (): void => this.#changed(driver, this.#cache.expire(driver, clock.monotonicMs()));
    this.#timers.set(driver, clock.setTimer(Math.max(endMs - clock.monotonicMs(), 0) + 1, fire));
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#parts.clock.setTimer(RETRY_MS, resolve);
      const abort = (): void => {
        timer.cancel();
        resolve();
      };
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  #save(): void {
    const { files, path, clock, log } = this.#parts;
    this.#writing = this.#writing
      .then(() => files.writeFileAtomic(path, encodeHealth(this.#cache.all(), clock), MODE))
      .catch((error: unknown) =>
        log.warn('the health of devices cannot be written', { path, error: errorMessage(error) }),
      );
  }
}
