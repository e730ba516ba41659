// A DNS client over TCP that sends its message a byte at a time.
import { once } from 'node:events';
import { connect } from 'node:net';
import { TcpFrames, tcpFrame } from '../../../src/node-network/adapters/dns-frames.ts';

export async function askOverTcp(port: number, message: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const answered = new Promise<Buffer>((resolve) => {
    const frames = new TcpFrames(resolve);
    socket.on('data', (chunk: Buffer) => frames.push(chunk));
  });
  for (const byte of tcpFrame(message)) await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
  const answer = Buffer.from(await answered);
  socket.destroy();
  return answer;
}
