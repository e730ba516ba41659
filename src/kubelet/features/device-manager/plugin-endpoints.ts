import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type {
  DevicePluginConnection,
  DevicePluginOptions,
  DevicePlugins,
  PluginDevice,
} from '../../ports/device-plugins.ts';

/** A plugin that serves a resource now. */
export interface PluginEndpoint {
  readonly connection: DevicePluginConnection;
  readonly options: DevicePluginOptions;
}

export interface PluginEndpointsParts {
  readonly plugins: Pick<DevicePlugins, 'connect'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with the plugin's first list of devices, and with a new list after each change. */
  readonly onDevices: (resource: string, devices: readonly PluginDevice[]) => void;
  /** Called when the plugin ended its stream or was deregistered. */
  readonly onGone: (resource: string) => void;
}

/** The time limit of a connection (upstream: plugin/v1beta1/client.go dial). */
const DIAL_LIMIT_MS = 10_000;
const OPTIONS_LIMIT_MS = 10_000;
/** The minimum time between two processed lists of a plugin, in case it sends continuously. */
const LIST_SPACING_MS = 50;
/** The maximum number of resources, because each costs a connection and memory for its devices. */
const MAX_RESOURCES = 100;

interface Endpoint extends PluginEndpoint {
  readonly socketPath: string;
  readonly abort: AbortController;
}

/**
 * Manages the connections to the registered plugins, one per resource. Invariants:
 * 1. The newest registration of a resource replaces the connection of an earlier one.
 * 2. A plugin is in use when it has reported its options. Its devices count when it has listed them.
 * 3. A slow plugin does not delay others.
 */
export class PluginEndpoints {
  readonly #parts: PluginEndpointsParts;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #attempts = new Map<string, AbortController>();
  readonly #watching = new Set<Promise<void>>();
  #stopped = false;

  constructor(parts: PluginEndpointsParts) {
    this.#parts = parts;
  }

  get(resource: string): PluginEndpoint | undefined {
    return this.#endpoints.get(resource);
  }

  /**
   * Connects to a plugin. Resolves when it is in use. Rejects if it cannot be reached, or if another registration of
   * the resource arrived meanwhile.
   */
  async register(resource: string, socketPath: string): Promise<void> {
    const known = new Set([...this.#endpoints.keys(), ...this.#attempts.keys()]);
    if (this.#stopped || (known.size >= MAX_RESOURCES && !known.has(resource)))
      throw new KubeletError('Unavailable', `no more than ${MAX_RESOURCES} resources of device plugins are supported`);
    const abort = new AbortController();
    this.#attempts.get(resource)?.abort();
    this.#attempts.set(resource, abort);
    try {
      const endpoint = await this.#connect(socketPath, abort);
      this.#close(resource);
      this.#endpoints.set(resource, endpoint);
      const watching = this.#watch(resource, endpoint).finally(() => this.#watching.delete(watching));
      this.#watching.add(watching);
    } finally {
      if (this.#attempts.get(resource) === abort) this.#attempts.delete(resource);
    }
  }

  /** Disconnects the plugin of a resource. If `socketPath` is given, only the plugin with that socket. */
  deregister(resource: string, socketPath: string): void {
    if (this.#endpoints.get(resource)?.socketPath !== socketPath) return;
    this.#attempts.get(resource)?.abort();
    this.#close(resource);
    this.#parts.onGone(resource);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const attempt of this.#attempts.values()) attempt.abort();
    for (const resource of [...this.#endpoints.keys()]) this.#close(resource);
    await Promise.all(this.#watching);
  }

  async #connect(socketPath: string, abort: AbortController): Promise<Endpoint> {
    const { plugins } = this.#parts;
    let connection: DevicePluginConnection;
    try {
      connection = await plugins.connect(socketPath, DIAL_LIMIT_MS);
    } catch (error) {
      throw new KubeletError('Unavailable', `failed to dial device plugin: ${errorMessage(error)}`, { cause: error });
    }
    try {
      const options = await connection.options({ timeoutMs: OPTIONS_LIMIT_MS, signal: abort.signal });
      if (abort.signal.aborted) throw new KubeletError('Aborted', 'the resource was registered again in the meantime');
      return { connection, options, socketPath, abort: new AbortController() };
    } catch (error) {
      connection.close();
      throw new KubeletError('Unavailable', `failed to get device plugin options: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  #close(resource: string): void {
    const endpoint = this.#endpoints.get(resource);
    this.#endpoints.delete(resource);
    endpoint?.abort.abort();
    endpoint?.connection.close();
  }

  /** Processes the lists of the plugin until its stream ends. Never rejects. */
  async #watch(resource: string, endpoint: Endpoint): Promise<void> {
    const { clock, log, onDevices, onGone } = this.#parts;
    const { signal } = endpoint.abort;
    let reason = 'the stream ended';
    try {
      for await (const devices of endpoint.connection.listAndWatch(signal)) {
        if (signal.aborted) break;
        onDevices(resource, devices);
        await sleep(clock, LIST_SPACING_MS, signal);
      }
    } catch (error) {
      if (!isKind(error, 'Aborted')) reason = errorMessage(error);
    }
    if (this.#endpoints.get(resource) !== endpoint) return;
    this.#close(resource);
    log.error('ListAndWatch ended unexpectedly for device plugin', { resource, error: reason });
    onGone(resource);
  }
}
