import type { Clock, Timer } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { PluginConnection, PluginDial, PluginInfo } from '../../ports/plugin-dial.ts';
import type { PluginEvent, PluginState } from './plugin-state.ts';
import { computePluginStep, newPlugin, nextPluginState } from './plugin-state.ts';
import type { FoundSockets } from './plugin-tree.ts';
import { PluginTree } from './plugin-tree.ts';

/** A plugin as passed to its handler. */
export interface RegisteringPlugin {
  readonly name: string;
  /** The socket of the plugin's service; never ''. */
  readonly endpoint: string;
  readonly versions: readonly string[];
  /** The registration socket, which distinguishes two plugins with the same name. */
  readonly socketPath: string;
}

/** Handles plugins of one type. */
export interface PluginHandler {
  /** Throws if the plugin is invalid. */
  validate(plugin: RegisteringPlugin): void;
  /** Registers the plugin. If it rejects, nothing is registered. */
  register(plugin: RegisteringPlugin): Promise<void>;
  /** Deregisters the plugin, and cancels a running `register`. The plugin may be unknown. */
  deregister(plugin: RegisteringPlugin): void;
}

export interface PluginManagerOptions {
  /** The folder `<root>/plugins_registry`. */
  readonly folder: string;
  readonly files: HostFiles;
  readonly dial: PluginDial;
  /** The handlers by plugin type, for example `CSIPlugin`. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The time limit of a connection (upstream: operation_generator.go). */
const DIAL_LIMIT_MS = 10_000;
const GET_INFO_LIMIT_MS = 1_000;
const NOTIFY_LIMIT_MS = 5_000;
/** The time limit of a registration. It is longer than the handler's own limit. */
const REGISTER_LIMIT_MS = 130_000;

interface PluginEntry {
  readonly path: string;
  state: PluginState;
  /** The handler and the plugin; undefined before the registration. */
  taken: { handler: PluginHandler; plugin: RegisteringPlugin } | undefined;
  timer: Timer | undefined;
  abort: AbortController;
}

/**
 * Manages the plugins of the node. It requests the info of each socket that appears below the folder, and passes the
 * plugin to the handler of its type. If a socket vanishes or is recreated, the plugin is deregistered first.
 * Invariants:
 * 1. There is at most one operation per socket. Plugins do not wait for each other.
 * 2. The desired state (the sockets on disk) and the actual state of each plugin are compared at each change of either,
 *    without polling.
 * 3. A handler deregisters each registered plugin exactly once.
 */
export class PluginManager {
  readonly #options: PluginManagerOptions;
  readonly #tree: PluginTree;
  readonly #plugins = new Map<string, PluginEntry>();
  readonly #running = new Set<Promise<void>>();
  #sockets: FoundSockets = new Map();
  #stopped = false;

  constructor(options: PluginManagerOptions) {
    this.#options = options;
    this.#tree = new PluginTree({ ...options, onSockets: (sockets) => this.#compare(sockets) });
  }

  start(): void {
    this.#tree.start();
  }

  /** Stops the manager. Plugins stay registered, because they are not notified that the agent stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#tree.stop();
    for (const { timer, abort } of this.#plugins.values()) {
      timer?.cancel();
      abort.abort();
    }
    await Promise.all(this.#running);
  }

  /** Returns the sockets of plugins that should be registered, and of registered ones. */
  counts(): { desired: readonly string[]; registered: readonly string[] } {
    return {
      desired: [...this.#sockets.keys()],
      registered: [...this.#plugins.values()]
        .filter(({ state }) => state.phase === 'registered')
        .map(({ path }) => path),
    };
  }

  #compare(sockets: FoundSockets): void {
    this.#sockets = sockets;
    for (const path of sockets.keys()) {
      if (!this.#plugins.has(path))
        this.#plugins.set(path, {
          path,
          state: newPlugin,
          taken: undefined,
          timer: undefined,
          abort: new AbortController(),
        });
    }
    for (const entry of [...this.#plugins.values()]) this.#goOn(entry);
  }

  #goOn(entry: PluginEntry): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const step = computePluginStep(entry.state, this.#sockets.get(entry.path), clock.monotonicMs());
    switch (step.kind) {
      case 'nothing':
        return;
      case 'forget':
        entry.timer?.cancel();
        this.#plugins.delete(entry.path);
        return;
      case 'abort':
        return entry.abort.abort();
      case 'wait':
        entry.timer?.cancel();
        entry.timer = clock.setTimer(step.untilMs - clock.monotonicMs(), () => this.#goOn(entry));
        return;
      case 'deregister':
        return this.#deregister(entry);
      case 'register': {
        entry.timer?.cancel();
        entry.abort = new AbortController();
        this.#step(entry, { kind: 'registering', socket: step.socket });
        const work = this.#register(entry, entry.abort.signal).finally(() => this.#running.delete(work));
        this.#running.add(work);
      }
    }
  }

  #step(entry: PluginEntry, event: PluginEvent): void {
    entry.state = nextPluginState(entry.state, event, this.#options.clock.monotonicMs());
  }

  #deregister(entry: PluginEntry): void {
    this.#step(entry, { kind: 'deregistering' });
    this.#giveBack(entry);
    this.#options.log.info('the socket of a plugin was removed', { socket: entry.path });
    this.#step(entry, { kind: 'ended' });
    this.#goOn(entry);
  }

  #giveBack(entry: PluginEntry): void {
    entry.taken?.handler.deregister(entry.taken.plugin);
    entry.taken = undefined;
  }

  /** Registers a plugin. Never rejects. */
  async #register(entry: PluginEntry, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#attempt(entry, signal);
      this.#step(entry, { kind: 'succeeded' });
      log.info('a plugin is registered', { socket: entry.path, plugin: entry.taken?.plugin.name });
    } catch (error) {
      this.#giveBack(entry);
      this.#step(entry, { kind: 'failed', error: errorMessage(error) });
      if (!signal.aborted)
        log.error('a plugin cannot be registered', { socket: entry.path, error: errorMessage(error) });
    }
    this.#goOn(entry);
  }

  async #attempt(entry: PluginEntry, signal: AbortSignal): Promise<void> {
    const connection = await within(
      this.#dial(entry.path, signal),
      `RegisterPlugin error -- dial failed at socket ${entry.path}, err: failed to dial socket ${entry.path}, err:`,
    );
    try {
      const info = await within(
        untilAborted(connection.getInfo(GET_INFO_LIMIT_MS), signal),
        `RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ${entry.path}, err:`,
      );
      await this.#handOver({ entry, connection, info, signal });
      await within(
        untilAborted(connection.notifyRegistrationStatus({ registered: true, error: '' }, NOTIFY_LIMIT_MS), signal),
        `RegisterPlugin error -- failed to send registration status at socket ${entry.path}, err:`,
      );
    } finally {
      connection.close();
    }
  }

  async #dial(path: string, signal: AbortSignal): Promise<PluginConnection> {
    const dialing = this.#options.dial.dial(path, DIAL_LIMIT_MS);
    void dialing.then(
      (connection) => {
        if (signal.aborted) connection.close();
      },
      () => undefined,
    );
    return untilAborted(dialing, signal);
  }

  async #handOver({
    entry,
    connection,
    info,
    signal,
  }: {
    entry: PluginEntry;
    connection: PluginConnection;
    info: PluginInfo;
    signal: AbortSignal;
  }): Promise<void> {
    const { clock, handlers } = this.#options;
    const socketPath = entry.path;
    const plugin: RegisteringPlugin = {
      name: info.name,
      endpoint: info.endpoint === '' ? socketPath : info.endpoint,
      versions: info.supportedVersions,
      socketPath,
    };
    const handler = handlers.get(info.type);
    if (handler === undefined)
      return this.#refuse(
        connection,
        `RegisterPlugin error -- no handler registered for plugin type: ${info.type} at socket ${socketPath}`,
      );
    try {
      handler.validate(plugin);
    } catch (error) {
      return this.#refuse(
        connection,
        `RegisterPlugin error -- plugin validation failed with err: ${errorMessage(error)}`,
      );
    }
    // The plugin must be deregistered from here on, whatever the result.
    entry.taken = { handler, plugin };
    try {
      await withDeadline({ clock, limitMs: REGISTER_LIMIT_MS, op: 'register plugin' }, () =>
        untilAborted(handler.register(plugin), signal),
      );
    } catch (error) {
      if (signal.aborted) throw error;
      return this.#refuse(
        connection,
        `RegisterPlugin error -- plugin registration failed with err: ${errorMessage(error)}`,
      );
    }
  }

  /** Refuses the plugin. It is notified of the reason if it still listens. The error is the same in both cases. */
  async #refuse(connection: PluginConnection, why: string): Promise<never> {
    await connection
      .notifyRegistrationStatus({ registered: false, error: why }, NOTIFY_LIMIT_MS)
      .catch((error: unknown) =>
        this.#options.log.debug(2, 'a plugin could not be notified of its rejection', { error: errorMessage(error) }),
      );
    throw new KubeletError('Invalid', why, { op: 'register plugin' });
  }
}

async function within<Value>(work: Promise<Value>, prefix: string): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw new KubeletError('Unavailable', `${prefix} ${errorMessage(error)}`, { op: 'register plugin', cause: error });
  }
}
