import { KubeletError } from '../../../base/errors.ts';
import type { DeviceHealthReport, DraClaim, DraDriver, PreparedClaim, PreparedDevice } from '../dra-drivers.ts';

/** A DRA driver that records its calls, fails on request, and streams what a test reports. */
export class FakeDraDriver implements DraDriver {
  readonly calls: string[] = [];
  devices: readonly PreparedDevice[];
  /** Why claims fail; '' means success. */
  error = '';
  /** The health reports; undefined if the driver watches no health. */
  #reports: (readonly DeviceHealthReport[])[] | undefined;
  #wake: (() => void) | undefined;
  #listener: ((connected: boolean) => void) | undefined;

  constructor(devices: readonly PreparedDevice[], { watches = false } = {}) {
    this.devices = devices;
    this.#reports = watches ? [] : undefined;
  }

  prepare(claims: readonly DraClaim[]): Promise<ReadonlyMap<string, PreparedClaim>> {
    this.calls.push(`prepare ${claims.map(({ namespace, name, uid }) => `${namespace}/${name}/${uid}`).join()}`);
    const devices = this.error === '' ? this.devices : [];
    return Promise.resolve(new Map(claims.map(({ uid }) => [uid, { devices, error: this.error }])));
  }

  unprepare(claims: readonly DraClaim[]): Promise<ReadonlyMap<string, string>> {
    this.calls.push(`unprepare ${claims.map(({ uid }) => uid).join()}`);
    return Promise.resolve(new Map(claims.map(({ uid }) => [uid, this.error])));
  }

  async *watchHealth(signal: AbortSignal): AsyncGenerator<readonly DeviceHealthReport[]> {
    this.calls.push('watch');
    if (this.#reports === undefined) throw new KubeletError('Unimplemented', 'no such service');
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
    while (!signal.aborted && this.#reports !== undefined) {
      const next = this.#reports.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  followConnection(listener: (connected: boolean) => void): void {
    this.#listener = listener;
    listener(true);
  }

  close(): void {
    this.calls.push('close');
  }

  /** Disconnects or reconnects the driver. */
  connect(isConnected: boolean): void {
    this.#listener?.(isConnected);
  }

  report(...reports: readonly DeviceHealthReport[]): void {
    this.#reports?.push(reports);
    this.#wake?.();
  }
}
