/** Queries the node's name servers over UDP and TCP. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFile } from 'node:fs/promises';
import { connect, isIPv6 } from 'node:net';
import { KubeletError } from '../../base/errors.ts';
import { isAnswerTo, nameServers, questionKey, questionName, withId } from '../dns/forward-plan.ts';
import type { NameServer, StubDomains } from '../dns/name-servers.ts';
import { MAX_SERVERS, stubServers } from '../dns/name-servers.ts';
import type { Forwarder, Transport } from '../dns/name-service.ts';
import { TcpFrames, tcpFrame } from './dns-frames.ts';

export interface DnsForwarderOptions {
  /** The path of the file, which is read for each query, so that a change takes effect immediately. */
  readonly resolvConf: string;
  /** The own addresses, which are never queried. */
  readonly ownAddresses: readonly string[];
  /** Queried instead of the name servers in the file. */
  readonly upstream?: readonly NameServer[];
  readonly stubDomains?: StubDomains;
  readonly timeoutMs?: number;
  /** Concurrent queries; CoreDNS's number. */
  readonly limit?: number;
  readonly port?: number;
}

export function createDnsForwarder({
  resolvConf,
  ownAddresses,
  upstream = [],
  stubDomains = new Map(),
  timeoutMs = 2000,
  limit = 1000,
  port = 53,
}: DnsForwarderOptions): Forwarder {
  let underWay = 0;
  const asked = new Set<string>();
  const serversFor = async (question: Buffer): Promise<readonly NameServer[]> => {
    const stub = stubDomains.size === 0 ? undefined : stubServers(questionName(question), stubDomains);
    if (stub !== undefined) return stub.slice(0, MAX_SERVERS);
    if (upstream.length > 0) return upstream.slice(0, MAX_SERVERS);
    return nameServers(await readFile(resolvConf, 'utf8'), ownAddresses).map((ip) => ({ ip, port }));
  };
  return {
    ask: async (question, transport) => {
      if (underWay >= limit)
        throw new KubeletError('Unavailable', `${limit} queries are already waiting for the node's name servers`, {
          op: 'forward',
        });
      underWay += 1;
      try {
        return await askInTurn(question, transport, {
          servers: await serversFor(question),
          timeoutMs,
          asked,
        });
      } finally {
        underWay -= 1;
      }
    },
    isOwn: (message) => asked.has(questionKey(message) ?? ''),
  };
}

interface Asking {
  readonly servers: readonly NameServer[];
  readonly timeoutMs: number;
  /** The keys of the queries in flight. */
  readonly asked: Set<string>;
}

/**
 * Queries the servers in turn, each twice, as the C library does. Each try has its own id and port, so that an attacker
 * who does not see the question cannot answer it.
 */
async function askInTurn(
  question: Buffer,
  transport: Transport,
  { servers, timeoutMs, asked }: Asking,
): Promise<Buffer> {
  let last: unknown = new KubeletError('NotFound', 'the node names no name server', { op: 'forward' });
  for (const { ip: server, port } of [...servers, ...servers]) {
    const id = randomInt(65_536);
    const numbered = withId(question, id);
    const key = questionKey(numbered) ?? '';
    asked.add(key);
    try {
      const ask = transport === 'udp' ? askUdp : askTcp;
      const answer = await ask({ server, port, question: numbered, id, timeoutMs });
      return withId(answer, question.readUInt16BE(0));
    } catch (error) {
      last = error;
    } finally {
      asked.delete(key);
    }
  }
  throw last;
}

interface OneTry {
  readonly server: string;
  readonly port: number;
  readonly question: Buffer;
  readonly id: number;
  readonly timeoutMs: number;
}

/** A truncated response is passed on as it is: the client then asks again over TCP. */
function askUdp({ server, port, question, id, timeoutMs }: OneTry): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(server) ? 'udp6' : 'udp4');
    const end = (finish: () => void): void => {
      clearTimeout(timer);
      socket.close();
      finish();
    };
    const timer = setTimeout(
      () =>
        end(() =>
          reject(new KubeletError('Timeout', `${server} did not answer within ${timeoutMs} ms`, { op: 'forward' })),
        ),
      timeoutMs,
    );
    socket.on('error', (error) => end(() => reject(error)));
    // Connected: the kernel drops packets from other senders and reports a closed port.
    socket.connect(port, server, () => socket.send(question));
    socket.on('message', (answer) => {
      if (isAnswerTo(question, answer, id)) end(() => resolve(answer));
    });
  });
}

function askTcp({ server, port, question, id, timeoutMs }: OneTry): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server, port });
    const timer = setTimeout(
      () =>
        socket.destroy(
          new KubeletError('Timeout', `${server} did not answer within ${timeoutMs} ms`, { op: 'forward' }),
        ),
      timeoutMs,
    );
    const frames = new TcpFrames((answer) => {
      if (!isAnswerTo(question, answer, id)) return;
      resolve(answer);
      socket.destroy();
    });
    socket.on('connect', () => socket.write(tcpFrame(question)));
    socket.on('data', (chunk: Buffer) => frames.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(timer);
      reject(new KubeletError('Unavailable', `${server} hung up`, { op: 'forward' }));
    });
  });
}
