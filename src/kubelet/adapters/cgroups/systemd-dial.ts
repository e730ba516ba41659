import { KubeletError } from '../../../base/errors.ts';
import { openBus } from '../dbus/bus-client.ts';
import type { ManagerConnection } from './systemd-manager.ts';

/**
 * The sockets of systemd. The bus is tried first, as in upstream's agent. systemd's own socket also works while dbus is
 * being restarted.
 */
export interface SystemdSockets {
  readonly bus: string;
  readonly privateSocket: string;
}

const systemdSockets: SystemdSockets = { bus: '/run/dbus/system_bus_socket', privateSocket: '/run/systemd/private' };

const SERVICE = 'org.freedesktop.systemd1';
const PATH = '/org/freedesktop/systemd1';
const MANAGER = 'org.freedesktop.systemd1.Manager';
const JOB_SIGNALS = `type='signal',sender='${SERVICE}',path='${PATH}',interface='${MANAGER}',member='JobRemoved'`;

/** Connects to systemd. Throws Unavailable, with the error of each socket, if it cannot be reached. */
export async function dialSystemd(sockets: SystemdSockets = systemdSockets): Promise<ManagerConnection> {
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
  const bus = await openBus(socket, { isDirect, op: 'reach systemd' });
  const systemd = { destination: SERVICE, path: PATH };
  const found: ManagerConnection = {
    call: (member, signature, body) =>
      bus.invoke({ ...systemd, interface: MANAGER, member, ...(body.length === 0 ? {} : { signature, body }) }),
    version: async () =>
      String(
        await bus.invoke({
          ...systemd,
          interface: 'org.freedesktop.DBus.Properties',
          member: 'Get',
          signature: 'ss',
          body: [MANAGER, 'Version'],
        }),
      ),
    onJobRemoved: (listener) =>
      bus.onMessage((message) => {
        if (message.interface === MANAGER && message.member === 'JobRemoved')
          listener(String(message.body?.[1]), String(message.body?.[3]));
      }),
    onClose: (listener) => bus.onClose(listener),
    close: () => bus.close(),
  };
  try {
    // The bus sends signals to subscribers only. systemd's own socket always sends them.
    if (!isDirect) await bus.addMatch(JOB_SIGNALS);
    await found.call('Subscribe', '', []);
  } catch (error) {
    found.close();
    throw error;
  }
  return found;
}
