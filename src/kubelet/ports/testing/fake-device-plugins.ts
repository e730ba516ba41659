import { KubeletError } from '../../../base/errors.ts';
import type {
  DeviceAllocation,
  DevicePluginConnection,
  DevicePluginOptions,
  DevicePluginRegistration,
  DevicePlugins,
  PluginDevice,
  PreferenceRequest,
} from '../device-plugins.ts';

type Operation = 'connect' | 'options' | 'allocate' | 'preferredAllocation' | 'preStart';

export const plainDevice = (id: string, more: Partial<PluginDevice> = {}): PluginDevice => ({
  id,
  healthy: true,
  numaNodes: [],
  ...more,
});

export const emptyAllocation: DeviceAllocation = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };

/** One plugin behind a socket of the fake, with its lists, its answers and the received calls. */
export class FakeDevicePlugin {
  options: DevicePluginOptions = { preStartRequired: false, preferredAllocationAvailable: false };
  preferred: (request: PreferenceRequest) => readonly string[] = () => [];
  allocation: (ids: readonly string[]) => DeviceAllocation | undefined = (ids) => ({
    ...emptyAllocation,
    envs: { DEVICES: [...ids].sort().join(',') },
  });
  readonly calls: { readonly op: Operation; readonly ids: readonly string[] }[] = [];
  readonly #faults = new Map<Operation, () => Promise<never>>();
  readonly #readers = new Set<() => void>();
  #devices: readonly PluginDevice[];
  #isGone = false;

  constructor(devices: readonly PluginDevice[]) {
    this.#devices = devices;
  }

  /** Sends a new list to connected agents. */
  list(devices: readonly PluginDevice[]): void {
    this.#devices = devices;
    this.#wake();
  }

  /** Ends the process: streams end, and calls fail. */
  die(): void {
    this.#isGone = true;
    this.#wake();
  }

  /** Fails the operation until `heal`. */
  fail(op: Operation, error: Error): void {
    this.#faults.set(op, () => Promise.reject(error));
  }

  /** Leaves the operation unanswered until the caller gives up. */
  hang(op: Operation): void {
    this.#faults.set(op, () => new Promise(() => undefined));
  }

  heal(op: Operation): void {
    this.#faults.delete(op);
  }

  connection(): DevicePluginConnection {
    return {
      options: () => this.#answer('options', [], undefined, () => this.options),
      listAndWatch: (signal) => this.#lists(signal),
      allocate: (ids, { signal }) => this.#answer('allocate', ids, signal, () => this.allocation(ids)),
      preferredAllocation: (request, { signal }) =>
        this.#answer('preferredAllocation', request.available, signal, () => this.preferred(request)),
      preStart: (ids, { signal }) => this.#answer('preStart', ids, signal, () => undefined),
      close: () => undefined,
    };
  }

  async #answer<Value>(
    op: Operation,
    ids: readonly string[],
    signal: AbortSignal | undefined,
    value: () => Value,
  ): Promise<Value> {
    this.calls.push({ op, ids });
    if (this.#isGone) throw new KubeletError('Unavailable', 'rpc error: code = Unavailable desc = the plugin is gone');
    const fault = this.#faults.get(op);
    if (fault === undefined) return value();
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new KubeletError('Aborted', 'aborted')), { once: true });
    });
    return Promise.race([fault(), aborted]);
  }

  async *#lists(signal: AbortSignal): AsyncGenerator<readonly PluginDevice[]> {
    while (!signal.aborted && !this.#isGone) {
      const next = new Promise<void>((resolve) => {
        this.#readers.add(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      yield this.#devices;
      await next;
    }
  }

  #wake(): void {
    for (const reader of this.#readers) reader();
    this.#readers.clear();
  }
}

/** The plugins by the path of their socket, and the agent's socket at which they register. */
export class FakeDevicePlugins implements DevicePlugins {
  readonly plugins = new Map<string, FakeDevicePlugin>();
  /** Called when an agent listens for registrations. Real plugins see its socket appear. */
  onServe: (() => void) | undefined;
  #register: ((registration: DevicePluginRegistration) => Promise<void>) | undefined;

  /** Registers a plugin. Rejects with the agent's refusal. */
  async register(registration: DevicePluginRegistration): Promise<void> {
    if (this.#register === undefined) throw new KubeletError('Unavailable', 'the agent does not listen');
    await this.#register(registration);
  }

  async connect(socketPath: string): Promise<DevicePluginConnection> {
    const plugin = this.plugins.get(socketPath);
    if (plugin === undefined) throw new KubeletError('Timeout', 'context deadline exceeded');
    return plugin.connection();
  }

  async serveRegistration(
    _socketPath: string,
    register: (registration: DevicePluginRegistration) => Promise<void>,
  ): Promise<{ close(): void }> {
    this.#register = register;
    queueMicrotask(() => this.onServe?.());
    return { close: () => void (this.#register = undefined) };
  }

  /** The same for one agent process, which receives nothing after its end. */
  forProcess(life: { readonly alive: boolean }): DevicePlugins {
    const never = new Promise<never>(() => undefined);
    const whileAlive = async <Value>(work: Promise<Value>): Promise<Value> => {
      try {
        const value = await work;
        return await (life.alive ? value : never);
      } catch (error) {
        if (!life.alive) return never;
        throw error;
      }
    };
    return {
      connect: async (socketPath) => {
        const connection = await whileAlive(this.connect(socketPath));
        return {
          ...connection,
          options: (limits) => whileAlive(connection.options(limits)),
          allocate: (ids, limits) => whileAlive(connection.allocate(ids, limits)),
          preferredAllocation: (request, limits) => whileAlive(connection.preferredAllocation(request, limits)),
          preStart: (ids, limits) => whileAlive(connection.preStart(ids, limits)),
        };
      },
      serveRegistration: (path, register) => whileAlive(this.serveRegistration(path, register)),
      encodeAllocation: (allocation) => this.encodeAllocation(allocation),
      decodeAllocation: (bytes) => this.decodeAllocation(bytes),
    };
  }

  encodeAllocation(allocation: DeviceAllocation): Uint8Array {
    return Buffer.from(JSON.stringify(allocation));
  }

  decodeAllocation(bytes: Uint8Array): DeviceAllocation {
    return JSON.parse(Buffer.from(bytes).toString()) as DeviceAllocation;
  }
}
