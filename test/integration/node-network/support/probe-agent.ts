/** A process in a network namespace that serves its name over TCP and UDP, and connects to others on request. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Reads lines of the form `{ id, ask, ... }` and answers `{ id, answer }`. */
const AGENT = `
const net = require('node:net');
const dgram = require('node:dgram');
const [name, tcp, udp] = process.argv.slice(-3);
const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
const open = new Map();
const ready = [];
// Each line of a client is echoed; first the client gets the name and its own address as the server sees it.
for (const port of tcp.split(','))
  ready.push(new Promise((done) => net.createServer((socket) => {
    socket.on('error', () => {});
    socket.write(name + ' ' + socket.remoteAddress.replace('::ffff:', '') + '\\n');
    socket.pipe(socket);
  }).listen(Number(port), '::', done)));
for (const port of udp.split(',')) {
  const socket = dgram.createSocket('udp6');
  socket.on('message', (_text, from) => socket.send(name + ' ' + from.address.replace('::ffff:', ''), from.port, from.address));
  ready.push(new Promise((done) => socket.bind(Number(port), '::', done)));
}
const asks = {
  tcp: ({ to, port, waitMs }, end) => {
    const socket = net.connect({ host: to, port });
    const finish = (answer) => { clearTimeout(timer); socket.destroy(); end(answer); };
    const timer = setTimeout(() => finish('timeout'), waitMs);
    socket.once('data', (text) => finish(String(text).trim())).once('error', (error) => finish(error.code));
  },
  udp: ({ to, port, waitMs, from }, end) => {
    const socket = dgram.createSocket(to.includes(':') ? 'udp6' : 'udp4');
    const finish = (answer) => { clearTimeout(timer); try { socket.close(); } catch {} end(answer); };
    const timer = setTimeout(() => finish('timeout'), waitMs);
    socket.once('message', (text) => finish(String(text).trim())).once('error', (error) => finish(error.code));
    if (from === undefined) socket.send('x', port, to);
    else socket.bind(from, () => socket.send('x', port, to));
  },
  open: ({ to, port, key }, end) => {
    const socket = net.connect({ host: to, port });
    open.set(key, socket);
    socket.once('data', (text) => end(String(text).trim())).on('error', (error) => end(error.code));
  },
  echo: ({ key, text, waitMs }, end) => {
    const socket = open.get(key);
    let seen = '';
    const finish = (answer) => { clearTimeout(timer); socket.off('data', hear); end(answer); };
    const hear = (part) => { seen += part; if (seen.includes(text)) finish('back'); };
    const timer = setTimeout(() => finish('timeout'), waitMs);
    socket.on('data', hear).write(text + '\\n');
  },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, ask, ...rest } = JSON.parse(line);
  let isOver = false;
  asks[ask](rest, (answer) => { if (!isOver) say({ id, answer }); isOver = true; });
}).on('close', () => process.exit(0));
Promise.all(ready).then(() => say({ id: 0, answer: 'ready' }));
`;

export interface ProbeAgent {
  /** What the other side returned about itself and us, `timeout`, or the error code. */
  reach(protocol: 'tcp' | 'udp', to: string, port: number, waitMs: number): Promise<string>;
  /** Connects over UDP from this port. */
  reachFrom(from: number, to: string, port: number, waitMs: number): Promise<string>;
  /** Opens a connection that stays open; returns the same as `reach`. */
  open(key: string, to: string, port: number): Promise<string>;
  /** Sends a line over it: `back` when it returns. */
  echo(key: string, text: string, waitMs: number): Promise<string>;
  stop(): Promise<void>;
}

export async function startProbeAgent(
  space: string,
  name: string,
  ports: { readonly tcp: readonly number[]; readonly udp: readonly number[] },
): Promise<ProbeAgent> {
  const child: ChildProcess = spawn(
    'ip',
    ['netns', 'exec', space, process.execPath, '-e', AGENT, name, ports.tcp.join(), ports.udp.join()],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const waiting = new Map<number, (answer: string) => void>();
  let last = 0;
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  const ready = new Promise<string>((resolve) => waiting.set(0, resolve));
  if (child.stdout === null || child.stdin === null) throw new Error('no pipes');
  const { stdin } = child;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, answer } = JSON.parse(line) as { id: number; answer: string };
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  const ask = (question: object): Promise<string> =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      stdin.write(`${JSON.stringify({ id: last, ...question })}\n`);
    });
  await ready;
  return {
    reach: (protocol, to, port, waitMs) => ask({ ask: protocol, to, port, waitMs }),
    reachFrom: (from, to, port, waitMs) => ask({ ask: 'udp', to, port, waitMs, from }),
    open: (key, to, port) => ask({ ask: 'open', key, to, port }),
    echo: (key, text, waitMs) => ask({ ask: 'echo', key, text, waitMs }),
    stop: async () => {
      stdin.end();
      await ended;
    },
  };
}
