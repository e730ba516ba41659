import { inBackground } from '../../../base/background.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';

/** Tells the runtime which addresses the pods of this node have, when they are known and when they change (upstream: updatePodCIDR). */
export class PodCidr {
  readonly #update: (podCidr: string) => Promise<void>;
  readonly #log: Logger;
  /** What the runtime was told. */
  #told = '';
  #wanted = '';
  #running = false;

  constructor(update: (podCidr: string) => Promise<void>, log: Logger) {
    this.#update = update;
    this.#log = log;
  }

  /** Of the configuration, or of the node; none says nothing. To be offered again and again: what failed is tried anew. */
  offer(podCidrs: readonly string[]): void {
    const wanted = podCidrs.join(',');
    if (wanted === '') return;
    this.#wanted = wanted;
    if (!this.#running && wanted !== this.#told)
      inBackground(this.#log, 'telling the runtime the addresses of pods', this.#tell());
  }

  async #tell(): Promise<void> {
    this.#running = true;
    try {
      while (this.#wanted !== this.#told) {
        const wanted = this.#wanted;
        await this.#update(wanted);
        this.#log.info('Updating Pod CIDR', { originalPodCIDR: this.#told, newPodCIDR: wanted });
        this.#told = wanted;
      }
    } catch (error) {
      this.#log.error('failed to update pod CIDR', { podCIDR: this.#wanted, error: errorMessage(error) });
    } finally {
      this.#running = false;
    }
  }
}
