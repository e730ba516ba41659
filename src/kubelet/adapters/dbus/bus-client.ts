import type { Socket } from 'node:net';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';

/** A signal or call as it arrived. `sender` is the unique name of the connection that sent it, set by the bus. */
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

/** A connection to a D-Bus socket. Calls reject with the kind that belongs to the D-Bus error. */
export interface BusClient {
  invoke(call: BusCall): Promise<unknown>;
  /** Subscribes to signals; on a socket without a bus all signals arrive. */
  addMatch(rule: string): Promise<void>;
  onMessage(listener: (message: BusMessage) => void): void;
  onClose(listener: () => void): void;
  close(): void;
}

const CALL_LIMIT_MS = 10_000;

/** Connects to a bus, or with `isDirect` to a service that listens itself. `op` is for errors. */
export async function openBus(socket: string, options: { isDirect: boolean; op: string }): Promise<BusClient> {
  // Loaded lazily, so that only agents that use it pay for it. In the bundle the CommonJS module is only available as
  // the default export.
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
  // An idle connection must not keep the process alive, a pending call must: nothing else may be open yet.
  const held = connection.stream as Partial<Pick<Socket, 'ref' | 'unref'>>;
  let calls = 0;
  return {
    invoke: async ({ body = [], ...call }) => {
      calls += 1;
      held.ref?.();
      try {
        // A failed handshake answers no call: then the connection's own error is reported.
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

/** `systemd1 StartUnit: ...` */
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
