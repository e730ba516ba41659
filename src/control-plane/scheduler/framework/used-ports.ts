import { ANY_ADDRESS } from './pod-info.ts';
import type { HostPort } from './pod-info.ts';

/**
 * The host ports in use on one node. Ports are counted, because two pods that were bound manually may use the same one.
 */
export class UsedPorts {
  /** The number of pods that use a port: `TCP/80` → address → count. */
  readonly #held = new Map<string, Map<string, number>>();

  add({ ip, protocol, port }: HostPort): void {
    const key = `${protocol}/${port}`;
    const addresses = this.#held.get(key) ?? new Map<string, number>();
    addresses.set(ip, (addresses.get(ip) ?? 0) + 1);
    this.#held.set(key, addresses);
  }

  remove({ ip, protocol, port }: HostPort): void {
    const key = `${protocol}/${port}`;
    const addresses = this.#held.get(key);
    const count = addresses?.get(ip);
    if (addresses === undefined || count === undefined) return;
    if (count > 1) addresses.set(ip, count - 1);
    else addresses.delete(ip);
    if (addresses.size === 0) this.#held.delete(key);
  }

  /** Whether the port is in use. A port on all addresses conflicts with the same port on any address. */
  conflictsWith({ ip, protocol, port }: HostPort): boolean {
    const addresses = this.#held.get(`${protocol}/${port}`);
    if (addresses === undefined) return false;
    return ip === ANY_ADDRESS || addresses.has(ANY_ADDRESS) || addresses.has(ip);
  }

  clone(): UsedPorts {
    const copy = new UsedPorts();
    for (const [key, addresses] of this.#held) copy.#held.set(key, new Map(addresses));
    return copy;
  }
}
