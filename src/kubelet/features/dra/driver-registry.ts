import { KubeletError } from '../../../base/errors.ts';
import type { DraCallRecord, DraDriver, DraDrivers, DraDriverVersion } from '../../ports/dra-drivers.ts';

interface RegisteringDriver {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
  readonly socketPath: string;
}

interface Registered {
  readonly socketPath: string;
  readonly driver: DraDriver;
  isConnected: boolean;
}

export interface DriverRegistryOptions {
  /** The client of DRA drivers; absent if the node has none. */
  readonly drivers: DraDrivers | undefined;
  readonly onCall?: (driver: string, call: DraCallRecord) => void;
  /** Called after each change with whether a driver of that name is connected. */
  readonly onUsable?: (driver: string, isUsable: boolean) => void;
  /** Called when one instance of a driver connected or disconnected. */
  readonly onConnection?: (driver: string, instance: DraDriver, isConnected: boolean) => void;
}

/** The supported services, the newest first. */
const services: readonly (readonly [service: string, version: DraDriverVersion])[] = [
  ['v1.DRAPlugin', 'v1'],
  ['v1beta1.DRAPlugin', 'v1beta1'],
];

/**
 * The DRA drivers that registered with the plugin watcher. During an update of a driver, two instances may have the
 * same name.
 */
export class DraDriverRegistry {
  readonly #options: DriverRegistryOptions;
  readonly #byName = new Map<string, Registered[]>();

  constructor(options: DriverRegistryOptions) {
    this.#options = options;
  }

  /** Throws if the driver's versions are not supported. */
  validate({ name, versions }: RegisteringDriver): void {
    if (versionOf(versions) === undefined)
      throw new KubeletError(
        'Invalid',
        `DRA driver ${name} offers none of the services ${services.map(([service]) => service).join(', ')}`,
      );
  }

  register({ name, endpoint, versions, socketPath }: RegisteringDriver): Promise<void> {
    const version = versionOf(versions);
    const { drivers, onCall } = this.#options;
    if (drivers === undefined || version === undefined)
      return Promise.reject(new KubeletError('Unimplemented', 'this node has no DRA drivers'));
    const driver = drivers.open(endpoint, version, (call) => onCall?.(name, call));
    const entry: Registered = { socketPath, driver, isConnected: false };
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), entry]);
    this.#changed(name);
    driver.followConnection((isConnected) => this.#connection(name, entry, isConnected));
    return Promise.resolve();
  }

  deregister({ name, socketPath }: RegisteringDriver): void {
    const all = this.#byName.get(name) ?? [];
    const left = all.filter((each) => each.socketPath !== socketPath);
    if (left.length === 0) this.#byName.delete(name);
    else this.#byName.set(name, left);
    for (const each of all) if (!left.includes(each)) this.#end(name, each);
    this.#changed(name);
  }

  /** Returns the last registered instance; connected ones are preferred. Throws `Unavailable` if there is none. */
  get(name: string): DraDriver {
    const all = this.#byName.get(name);
    const found = all?.findLast(({ isConnected }) => isConnected) ?? all?.at(-1);
    if (found === undefined) throw new KubeletError('Unavailable', `DRA driver ${name} is not registered`);
    return found.driver;
  }

  close(): void {
    for (const [name, all] of this.#byName) for (const each of all) this.#end(name, each);
    this.#byName.clear();
  }

  #connection(name: string, entry: Registered, isConnected: boolean): void {
    if (this.#byName.get(name)?.includes(entry) !== true || entry.isConnected === isConnected) return;
    entry.isConnected = isConnected;
    this.#options.onConnection?.(name, entry.driver, isConnected);
    this.#changed(name);
  }

  #end(name: string, entry: Registered): void {
    if (entry.isConnected) this.#options.onConnection?.(name, entry.driver, false);
    entry.driver.close();
  }

  #changed(name: string): void {
    const isUsable = (this.#byName.get(name) ?? []).some(({ isConnected }) => isConnected);
    this.#options.onUsable?.(name, isUsable);
  }
}

function versionOf(offered: readonly string[]): DraDriverVersion | undefined {
  return services.find(([service]) => offered.includes(service))?.[1];
}
