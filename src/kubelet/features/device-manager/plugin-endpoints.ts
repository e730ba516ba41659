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
  /** The plugin's list of devices, the first one and after each change. */
  readonly onDevices: (resource: string, devices: readonly PluginDevice[]) => void;
  /** The plugin is gone: it ended its stream or was deregistered. */
  readonly onGone: (resource: string) => void;
}

/** Upstream: plugin/v1beta1/client.go dial. */
const DIAL_LIMIT_MS = 10_000;
const OPTIONS_LIMIT_MS = 10_000;
/** The maximum rate at which lists of a plugin are processed, in case it sends continuously. */
const LIST_SPACING_MS = 50;
/** Each resource costs a connection, and its devices memory. */
const MAX_RESOURCES = 100;

interface Endpoint extends PluginEndpoint {
  readonly socketPath: string;
  readonly abort: AbortController;
}

/**
 * Connections to the registered plugins, one for each resource.
 * 1. The newest registration of a resource counts: it replaces the connection of an earlier one.
 * 2. A plugin is in use once it has reported its options; its devices count once it has listed them.
 * 3. Plugins never wait for each other.
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

  /** Resolves when the plugin is in use. Rejects when it cannot be reached, or another registration came meanwhile. */
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

  /** With a path, only the plugin that listens there. */
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
      if (abort.signal.aborted)
        throw new KubeletError('Aborted', 'another registration of the resource came meanwhile');
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

  /** Never rejects. */
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
