import type { Socket } from 'node:net';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';

/** A received signal or call. `sender` is the unique name of the sending connection, which the bus sets. */
export interface BusMessage {
  readonly sender?: string | undefined;
  readonly interface?: string | undefined;
  readonly member?: string | undefined;
  readonly body?: readonly unknown[] | undefined;
}

export interface BusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly unknown[];
}

/** A connection to a D-Bus socket. Calls reject with the kind for the D-Bus error. */
export interface BusClient {
  invoke(call: BusCall): Promise<unknown>;
  /** Subscribes to signals. On a socket without a bus, all signals arrive. */
  addMatch(rule: string): Promise<void>;
  onMessage(listener: (message: BusMessage) => void): void;
  onClose(listener: () => void): void;
  close(): void;
}

const CALL_LIMIT_MS = 10_000;

/** Connects to a bus, or with `isDirect` directly to a service. `op` is for errors. */
export async function openBus(socket: string, options: { isDirect: boolean; op: string }): Promise<BusClient> {
  // The library is loaded on demand, so that only agents that use it pay for it. In the bundle the CommonJS module is
  // available only as the default export.
  const library = await import('dbus-native');
  const bus = library.default.createClient({
    socket,
    direct: options.isDirect,
    authMethods: ['EXTERNAL'],
    plainValues: true,
    timeout: CALL_LIMIT_MS,
  });
  const connection = bus.connection;
  let cause: Error | undefined;
  const closed = new Promise<never>((_, reject) => {
    connection.on('error', (error) => {
      cause ??= error;
      reject(error);
      bus.connection.stream.destroy();
    });
    connection.on('close', () =>
      reject(new KubeletError('Unavailable', `${socket} was closed`, { op: options.op, cause })),
    );
  });
  closed.catch(() => undefined);
  // An idle connection must not keep the process alive, but a pending call must, because nothing else may be open yet.
  const held = connection.stream as Partial<Pick<Socket, 'ref' | 'unref'>>;
  let calls = 0;
  return {
    invoke: async ({ body = [], ...call }) => {
      calls += 1;
      held.ref?.();
      try {
        // After a failed handshake no call is answered, so the connection's own error is reported.
        const target = body.length === 0 ? call : { ...call, body: [...body] };
        return await Promise.race([bus.invoke<unknown>(target), closed]);
      } catch (error) {
        throw asKubeletError(error, call);
      } finally {
        calls -= 1;
        if (calls === 0) held.unref?.();
      }
    },
    addMatch: (rule) => Promise.race([bus.addMatch(rule), closed]),
    onMessage: (listener) => void connection.on('message', listener),
    onClose: (listener) => void connection.on('close', listener),
    close: () => void bus.close(),
  };
}

const kinds: ReadonlyMap<string, ErrorKind> = new Map([
  ['org.freedesktop.systemd1.NoSuchUnit', 'NotFound'],
  ['org.freedesktop.systemd1.UnitExists', 'AlreadyExists'],
  ['org.freedesktop.DBus.Error.InvalidArgs', 'Invalid'],
  ['org.freedesktop.DBus.Error.PropertyReadOnly', 'Invalid'],
  ['org.freedesktop.DBus.Error.NoReply', 'Timeout'],
  ['org.freedesktop.DBus.Error.ServiceUnknown', 'Unavailable'],
  ['org.freedesktop.DBus.Error.NameHasNoOwner', 'Unavailable'],
  ['org.freedesktop.DBus.Error.Disconnected', 'Unavailable'],
]);

/** Adds `systemd1 StartUnit: ...` to the error. */
function asKubeletError(error: unknown, { destination, member }: BusCall): KubeletError {
  if (error instanceof KubeletError) return error;
  const name = error instanceof Error && 'dbusName' in error ? String(error.dbusName) : '';
  const isLost =
    error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code !== 'ETIMEDOUT';
  const kind = kinds.get(name) ?? (isLost ? 'Unavailable' : 'Internal');
  const service = destination.split('.').at(-1) ?? destination;
  return new KubeletError(kind, `${service} ${member}: ${error instanceof Error ? error.message : String(error)}`, {
    op: member,
    cause: error,
  });
}
