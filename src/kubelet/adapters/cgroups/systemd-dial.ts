import { lookupTable } from '../../../base/lookup.ts';
import type { Socket } from 'node:net';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { ManagerConnection } from './systemd-manager.ts';

/**
 * The sockets of systemd. The bus first, as in upstream's agent; systemd's own socket still works while dbus is being
 * restarted.
 */
export interface SystemdSockets {
  bus: string;
  privateSocket: string;
}

const SYSTEMD_SOCKETS: SystemdSockets = { bus: '/run/dbus/system_bus_socket', privateSocket: '/run/systemd/private' };

const CALL_LIMIT_MS = 10_000;
const SERVICE = 'org.freedesktop.systemd1';
const PATH = '/org/freedesktop/systemd1';
const MANAGER = 'org.freedesktop.systemd1.Manager';
const JOB_SIGNALS = `type='signal',sender='${SERVICE}',path='${PATH}',interface='${MANAGER}',member='JobRemoved'`;

/** Throws Unavailable, with the error of each socket, where systemd cannot be reached. */
export async function dialSystemd(sockets: SystemdSockets = SYSTEMD_SOCKETS): Promise<ManagerConnection> {
  const problems: string[] = [];
  for (const [socket, isDirect] of [
    [sockets.bus, false],
    [sockets.privateSocket, true],
  ] as const) {
    try {
      return await dialOne(socket, isDirect);
    } catch (error) {
      problems.push(`${socket}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new KubeletError('Unavailable', `systemd cannot be reached over D-Bus (${problems.join('; ')})`, {
    op: 'reach systemd',
  });
}

async function dialOne(socket: string, isDirect: boolean): Promise<ManagerConnection> {
  // Loaded lazily, so that only agents that use it pay for it. In the bundle the CommonJS module is only available as
  // the default export.
  const library = await import('dbus-native');
  const bus = library.default.createClient({
    socket,
    direct: isDirect,
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
      reject(new KubeletError('Unavailable', `${socket} was closed`, { op: 'reach systemd', cause })),
    );
  });
  closed.catch(() => undefined);
  // An idle connection must not keep the process alive, a pending call must: nothing else may be open yet.
  const held = connection.stream as Partial<Pick<Socket, 'ref' | 'unref'>>;
  let calls = 0;
  const invoke = async (target: {
    interface: string;
    member: string;
    signature?: string;
    body?: unknown[];
  }): Promise<unknown> => {
    calls += 1;
    held.ref?.();
    try {
      // A failed handshake answers no call: then the connection's own error is reported.
      return await Promise.race([bus.invoke<unknown>({ destination: SERVICE, path: PATH, ...target }), closed]);
    } catch (error) {
      throw asKubeletError(error, target.member);
    } finally {
      calls -= 1;
      if (calls === 0) held.unref?.();
    }
  };
  const found: ManagerConnection = {
    call: (member, signature, body) =>
      invoke({ interface: MANAGER, member, ...(body.length === 0 ? {} : { signature, body: [...body] }) }),
    version: async () =>
      String(
        await invoke({
          interface: 'org.freedesktop.DBus.Properties',
          member: 'Get',
          signature: 'ss',
          body: [MANAGER, 'Version'],
        }),
      ),
    onJobRemoved: (listener) => {
      connection.on('message', (message) => {
        if (message.interface === MANAGER && message.member === 'JobRemoved')
          listener(String(message.body?.[1]), String(message.body?.[3]));
      });
    },
    onClose: (listener) => void connection.on('close', listener),
    close: () => void bus.close(),
  };
  try {
    // On the bus signals are sent to subscribers only; on systemd's own socket they are always sent.
    if (!isDirect) await Promise.race([bus.addMatch(JOB_SIGNALS), closed]);
    await found.call('Subscribe', '', []);
  } catch (error) {
    found.close();
    throw error;
  }
  return found;
}

const KINDS: Readonly<Record<string, ErrorKind>> = lookupTable({
  'org.freedesktop.systemd1.NoSuchUnit': 'NotFound',
  'org.freedesktop.systemd1.UnitExists': 'AlreadyExists',
  'org.freedesktop.DBus.Error.InvalidArgs': 'Invalid',
  'org.freedesktop.DBus.Error.PropertyReadOnly': 'Invalid',
  'org.freedesktop.DBus.Error.NoReply': 'Timeout',
  'org.freedesktop.DBus.Error.ServiceUnknown': 'Unavailable',
  'org.freedesktop.DBus.Error.NameHasNoOwner': 'Unavailable',
  'org.freedesktop.DBus.Error.Disconnected': 'Unavailable',
});

function asKubeletError(error: unknown, member: string): KubeletError {
  if (error instanceof KubeletError) return error;
  const name = error instanceof Error && 'dbusName' in error ? String(error.dbusName) : '';
  const isLost =
    error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code !== 'ETIMEDOUT';
  const kind = KINDS[name] ?? (isLost ? 'Unavailable' : 'Internal');
  return new KubeletError(kind, `systemd ${member}: ${error instanceof Error ? error.message : String(error)}`, {
    op: member,
    cause: error,
  });
}
