import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Both ends of one loopback connection, and a function that closes both. */
export async function socketPair(): Promise<[client: Socket, server: Socket, close: () => Promise<void>]> {
  const listener = createServer({ allowHalfOpen: true });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const client = connect({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1' });
  const [[server]] = (await Promise.all([once(listener, 'connection'), once(client, 'connect')])) as [
    [Socket],
    unknown,
  ];
  for (const each of [client, server]) each.on('error', () => undefined);
  const close = async (): Promise<void> => {
    client.destroy();
    server.destroy();
    listener.close();
    await once(listener, 'close');
  };
  return [client, server, close];
}
