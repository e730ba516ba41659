import { inBackground } from '../../../base/background.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';

/** Passes the pod CIDR to the runtime when it is first known and when it changes (upstream: updatePodCIDR). */
export class PodCidr {
  readonly #update: (podCidr: string) => Promise<void>;
  readonly #log: Logger;
  /** The CIDR that the runtime has. */
  #applied = '';
  #wanted = '';
  #running = false;

  constructor(update: (podCidr: string) => Promise<void>, log: Logger) {
    this.#update = update;
    this.#log = log;
  }

  /**
   * Passes the CIDR of the configuration or the node to the runtime, unless it is empty. Call it repeatedly, so that a
   * failure is retried.
   */
  offer(podCidrs: readonly string[]): void {
    const wanted = podCidrs.join(',');
    if (wanted === '') return;
    this.#wanted = wanted;
    if (!this.#running && wanted !== this.#applied)
      inBackground(this.#log, 'passing the pod CIDR to the runtime', this.#pass());
  }

  async #pass(): Promise<void> {
    this.#running = true;
    try {
      while (this.#wanted !== this.#applied) {
        const wanted = this.#wanted;
        await this.#update(wanted);
        this.#log.info('Updating Pod CIDR', { originalPodCIDR: this.#applied, newPodCIDR: wanted });
        this.#applied = wanted;
      }
    } catch (error) {
      this.#log.error('failed to update pod CIDR', { podCIDR: this.#wanted, error: errorMessage(error) });
    } finally {
      this.#running = false;
    }
  }
}
