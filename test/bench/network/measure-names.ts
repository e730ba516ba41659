// Queries for names inside and outside of the cluster, over UDP on loopback. The client is another process; only the
// server's processor time is measured.
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decode, encode } from 'dns-packet';
import { createInformers } from '../../../src/api/client/informer.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { createDnsForwarder } from '../../../src/node-network/adapters/dns-forwarder.ts';
import { startDnsServer } from '../../../src/node-network/adapters/dns-server.ts';
import { AnswerCache } from '../../../src/node-network/dns/answer-cache.ts';
import { createCachingForwarder } from '../../../src/node-network/dns/caching-forwarder.ts';
import { followClusterView } from '../../../src/node-network/dns/cluster-view.ts';
import { createNameService } from '../../../src/node-network/dns/name-service.ts';
import { clusterOf } from './cluster-objects.ts';

const QUESTIONS = 60_000;
const UNDER_WAY = 64;
const SERVICES = 1000;

/** Queries the names in turn, with `UNDER_WAY` open queries; a query without a response is repeated after a second. */
const CLIENT = `
const [port, names, count, underWay] = process.argv.slice(1).map((text) => JSON.parse(text));
const socket = require('node:dgram').createSocket({ type: 'udp4', recvBufferSize: 4 << 20 });
const question = (name, id) => { const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  const head = Buffer.alloc(12); head.writeUInt16BE(id, 0); head.writeUInt16BE(0x0100, 2); head.writeUInt16BE(1, 4);
  return Buffer.concat([head, ...labels, Buffer.from([0, 0, 1, 0, 1])]); };
const asks = names.map((name) => question(name, 0));
let sent = 0, answered = 0;
const next = () => { if (sent >= count) return; const each = asks[sent % asks.length]; each.writeUInt16BE(sent % 65536, 0); sent += 1; socket.send(Buffer.from(each), port, '127.0.0.1'); };
let last = 0;
const timer = setInterval(() => { if (answered === last) for (let at = 0; at < underWay; at += 1) { sent -= 1; next(); } last = answered; }, 1000);
socket.on('message', (message) => { if ((message.readUInt16BE(6) === 0)) throw new Error('no answer in it'); answered += 1; if (answered >= count) { clearInterval(timer); socket.close(); } else next(); });
for (let at = 0; at < underWay; at += 1) next();`;

export interface NameFigures {
  /** Responses per second of the server's processor time. */
  readonly perCore: number;
}

async function ask(port: number, names: readonly string[]): Promise<NameFigures> {
  const startCpu = process.cpuUsage();
  const args = [port, names, QUESTIONS, UNDER_WAY].map((value) => JSON.stringify(value));
  const child = spawn(process.execPath, ['-e', CLIENT, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the client ended with ${code}`);
  const { user, system } = process.cpuUsage(startCpu);
  return { perCore: QUESTIONS / ((user + system) / 1e6) };
}

export async function measureNames(): Promise<Readonly<Record<'cluster' | 'cached', NameFigures>>> {
  const upstream = createSocket('udp4').bind(0, '127.0.0.1');
  await once(upstream, 'listening');
  upstream.on('message', (message, { port, address }) => {
    const { id, questions = [] } = decode(message);
    const answers = questions.map(({ name }) => ({ name, type: 'A' as const, ttl: 300, data: '192.0.2.1' }));
    upstream.send(encode({ type: 'response', id: id ?? 0, questions, answers }), port, address);
  });
  const parts = { clock: systemClock, random: systemRandom, log: silentLogger };
  const informers = createInformers({ client: clusterOf(SERVICES, 4), ...parts });
  const plain = createDnsForwarder({
    resolvConf: '/dev/null',
    ownAddresses: [],
    upstream: [{ ip: '127.0.0.1', port: upstream.address().port }],
  });
  const service = createNameService({
    view: followClusterView(informers, 'cluster.local'),
    forwarder: createCachingForwarder(plain, new AnswerCache(), systemClock),
    log: silentLogger,
  });
  informers.start();
  await informers.whenSynced();
  const server = await startDnsServer({ address: '127.0.0.1', port: 0, service });
  try {
    const names = (of: (at: number) => string): string[] => Array.from({ length: SERVICES }, (_, at) => of(at));
    return {
      cluster: await ask(
        server.port,
        names((at) => `web-${at}.default.svc.cluster.local`),
      ),
      cached: await ask(
        server.port,
        names((at) => `host-${at}.example.org`),
      ),
    };
  } finally {
    await server.close();
    await informers.stop();
    upstream.close();
  }
}
