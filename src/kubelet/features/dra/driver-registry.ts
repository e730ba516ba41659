import { KubeletError } from '../../../base/errors.ts';
import type { DraDriver, DraDrivers, DraDriverVersion } from '../../ports/dra-drivers.ts';

interface RegisteringDriver {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
  readonly socketPath: string;
}

interface Registered {
  readonly socketPath: string;
  readonly driver: DraDriver;
}

/** The newest first. */
const services: readonly (readonly [service: string, version: DraDriverVersion])[] = [
  ['v1.DRAPlugin', 'v1'],
  ['v1beta1.DRAPlugin', 'v1beta1'],
];

/** DRA drivers that are registered with the plugin watcher. During an update of a driver two may have one name. */
export class DraDriverRegistry {
  readonly #drivers: DraDrivers | undefined;
  readonly #byName = new Map<string, Registered[]>();

  constructor(drivers: DraDrivers | undefined) {
    this.#drivers = drivers;
  }

  /** Throws with the problem. */
  validate({ name, versions }: RegisteringDriver): void {
    if (versionOf(versions) === undefined)
      throw new KubeletError(
        'Invalid',
        `DRA driver ${name} offers none of the services ${services.map(([service]) => service).join(', ')}`,
      );
  }

  register({ name, endpoint, versions, socketPath }: RegisteringDriver): Promise<void> {
    const version = versionOf(versions);
    if (this.#drivers === undefined || version === undefined)
      return Promise.reject(new KubeletError('Unimplemented', 'this node has no DRA drivers'));
    const driver = this.#drivers.open(endpoint, version);
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), { socketPath, driver }]);
    return Promise.resolve();
  }

  deregister({ name, socketPath }: RegisteringDriver): void {
    const left: Registered[] = [];
    for (const each of this.#byName.get(name) ?? []) {
      if (each.socketPath === socketPath) each.driver.close();
      else left.push(each);
    }
    if (left.length === 0) this.#byName.delete(name);
    else this.#byName.set(name, left);
  }

  /** The one that registered last. Throws `Unavailable` when there is none. */
  get(name: string): DraDriver {
    const found = this.#byName.get(name)?.at(-1);
    if (found === undefined) throw new KubeletError('Unavailable', `DRA driver ${name} is not registered`);
    return found.driver;
  }

  close(): void {
    for (const each of this.#byName.values()) for (const { driver } of each) driver.close();
    this.#byName.clear();
  }
}

function versionOf(versions: readonly string[]): DraDriverVersion | undefined {
  return services.find(([service]) => versions.includes(service))?.[1];
}
