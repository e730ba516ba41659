import type { Clock, Timer } from '../../src/base/clock.ts';
import type { Cgroups } from '../../src/kubelet/ports/cgroups.ts';
import type { HostFiles } from '../../src/kubelet/ports/host-files.ts';
import type { LoginManager } from '../../src/kubelet/ports/login-manager.ts';
import type { RuntimeEventSource } from '../../src/kubelet/ports/runtime.ts';
import type { FakeCgroups } from '../../src/kubelet/ports/testing/fake-cgroups.ts';

/**
 * When the agent is killed, relative to the watched call: before it, during it, or after its effect and before its
 * answer.
 */
export type DeathPoint = 'before' | 'during' | 'after';

/** Called before each call of a port; a death point kills the agent there. */
export type Gate = (port: string, method: string, target: unknown) => DeathPoint | undefined;

/** The life of one agent process. After its end, none of its promises settles and none of its timers fires. */
export class Life {
  readonly #ends: (() => void)[] = [];
  /** The timers with the stacks that created them, if SIMULATION_TIMERS is set. */
  readonly timers = new Map<Timer, string>();
  #alive = true;

  get alive(): boolean {
    return this.#alive;
  }

  onEnd(action: () => void): void {
    this.#ends.push(action);
  }

  end(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const timer of [...this.timers.keys()]) timer.cancel();
    this.timers.clear();
    for (const action of this.#ends) action();
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** The clock of one process: its monotonic time starts with the process, and its timers end with it. */
export function killableClock(clock: Clock, life: Life): Clock {
  const originMs = clock.monotonicMs();
  return {
    nowMs: () => Math.floor(clock.nowMs()),
    monotonicMs: () => clock.monotonicMs() - originMs,
    setTimer(delayMs, fire) {
      if (!life.alive) return { cancel: () => undefined };
      // As in Node: whole milliseconds, at least one. A delay with a fraction fires early by that fraction.
      const inner = clock.setTimer(Math.max(1, Math.trunc(delayMs)), () => {
        life.timers.delete(timer);
        fire();
      });
      const timer: Timer = {
        cancel: () => {
          life.timers.delete(timer);
          inner.cancel();
        },
      };
      life.timers.set(timer, TRACE_TIMERS ? (new Error('timer').stack ?? '').split('\n').slice(2, 4).join(' <') : '');
      return timer;
    },
  };
}

/** The result of `promise` while the process lives; never settles after that. */
function whileAlive<T>(promise: Promise<T>, life: Life): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    promise.then(
      (value) => {
        if (life.alive) resolve(value);
      },
      (error: unknown) => {
        if (life.alive) reject(error as Error);
      },
    );
  });
}

const TRACE_TIMERS = process.env['SIMULATION_TIMERS'] !== undefined;

type Method = (...args: unknown[]) => unknown;

/** A port of one process: after the end of the process, calls do nothing and never answer. */
export function killablePort<T extends object>(port: string, target: T, life: Life, gate: Gate): T {
  const wrapped = new Map<string | symbol, unknown>();
  const wrap =
    (key: string | symbol, method: Method): Method =>
    (...args) => {
      if (!life.alive) return never();
      const death = gate(port, String(key), args[0]);
      if (death === 'before') {
        life.end();
        return never();
      }
      const result = method.apply(target, args);
      if (!(result instanceof Promise)) return result;
      if (death === 'during') life.end();
      if (death !== 'after') return whileAlive(result, life);
      const finish = (): void => life.end();
      result.then(finish, finish);
      return never();
    };
  return new Proxy(target, {
    get(object, key) {
      const known = wrapped.get(key);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(object, key, object);
      if (typeof value !== 'function') return value;
      const method = wrap(key, value as Method);
      wrapped.set(key, method);
      return method;
    },
  });
}

/** A process that is killed while it creates a cgroup sets no limits. */
export function killableCgroups(cgroups: FakeCgroups, life: Life, gate: Gate): Cgroups {
  const ensure: Cgroups['ensure'] = (name, limits) => cgroups.ensure(name, limits, () => life.alive);
  return killablePort<Cgroups>(
    'cgroups',
    new Proxy(cgroups, { get: (object, key) => (key === 'ensure' ? ensure : bound(object, key)) }),
    life,
    gate,
  );
}

function bound(object: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(object, key, object);
  return typeof value === 'function' ? (value as Method).bind(object) : value;
}

export function killableFiles(files: HostFiles, life: Life, gate: Gate): HostFiles {
  const port = killablePort('files', files, life, gate);
  const watch: HostFiles['watch'] = (path, handlers) => {
    if (!life.alive) return () => undefined;
    const stop = files.watch(path, {
      onChange: (name, settled, removed) => {
        if (life.alive) handlers.onChange(name, settled, removed);
      },
      onLost: (reason) => {
        if (life.alive) handlers.onLost(reason);
      },
    });
    life.onEnd(stop);
    return stop;
  };
  return new Proxy(port, { get: (object, key) => (key === 'watch' ? watch : (Reflect.get(object, key) as unknown)) });
}

export function killableEvents(source: RuntimeEventSource, life: Life): RuntimeEventSource {
  return {
    kind: source.kind,
    subscribe: (handlers, signal) => {
      if (!life.alive) return never();
      const ended = new AbortController();
      life.onEnd(() => ended.abort());
      return whileAlive(source.subscribe(handlers, AbortSignal.any([signal, ended.signal])), life);
    },
  };
}

/** logind for one process: its lock and its connection end with the process. */
export function killableLogin(login: LoginManager, life: Life): LoginManager {
  return {
    connect: async () => {
      if (!life.alive) return never();
      const connection = await whileAlive(login.connect(), life);
      life.onEnd(() => connection.close());
      return {
        ...connection,
        inhibitShutdown: async (why) => {
          const lock = await connection.inhibitShutdown(why);
          life.onEnd(() => lock.release());
          return life.alive ? lock : never();
        },
        onPrepareForShutdown: (listener) =>
          connection.onPrepareForShutdown((isStarting) => {
            if (life.alive) listener(isStarting);
          }),
        onClose: (listener) =>
          connection.onClose(() => {
            if (life.alive) listener();
          }),
      };
    },
  };
}
