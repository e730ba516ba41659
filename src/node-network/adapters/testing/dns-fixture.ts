/** Name servers, forwarders and DNS servers on loopback, and the messages between them. */

import assert from 'node:assert/strict';
import type { Socket as UdpSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, DecodedPacket, Packet } from 'dns-packet';
import { decode, encode } from 'dns-packet';
import { silentLogger } from '../../../base/log.ts';
import type { ClusterView } from '../../dns/cluster-names.ts';
import type { Forwarder, NameService } from '../../dns/name-service.ts';
import { createNameService } from '../../dns/name-service.ts';
import type { DnsForwarderOptions } from '../dns-forwarder.ts';
import { createDnsForwarder } from '../dns-forwarder.ts';
import type { DnsServer, DnsServerOptions } from '../dns-server.ts';
import { startDnsServer } from '../dns-server.ts';

/**
 * Everything that a test has opened. All unit tests share one process, so each suite closes its own objects in
 * `afterEach`.
 */
export const open: { close(): unknown }[] = [];
export async function closeAll(): Promise<void> {
  for (const each of open.splice(0)) await each.close();
}

export const rcodeOf = (packet: DecodedPacket): string => (packet as DecodedPacket & { readonly rcode: string }).rcode;
export const dataOf = (packet: DecodedPacket): unknown[] =>
  (packet.answers ?? []).map((each) => ('data' in each ? each.data : ''));
export const question = (name = 'example.org', more: Partial<Packet> = {}): Buffer =>
  encode({ type: 'query', id: 7, flags: 0x0100, questions: [{ name, type: 'A', class: 'IN' }], ...more });
export const extension = (udpPayloadSize: number): Answer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
});
export const address = (data = '192.0.2.77', name = 'example.org'): Answer => ({ name, type: 'A', ttl: 5, data });
/** Returns the response of a correct name server. */
export const honest = (message: Buffer, more: Partial<Packet> = {}): Buffer =>
  encode({
    type: 'response',
    id: message.readUInt16BE(0),
    questions: decode(message).questions ?? [],
    answers: [address()],
    ...more,
  });

export interface Asked {
  readonly message: Buffer;
  readonly from: AddressInfo;
  reply(answer: Buffer): void;
}

/** A name server that returns scripted responses. */
export async function upstream(
  onAsked: (asked: Asked) => void,
): Promise<{ readonly port: number; readonly socket: UdpSocket }> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  open.push(socket);
  socket.on('message', (message, from) =>
    onAsked({ message, from: { ...from }, reply: (answer) => socket.send(answer, from.port, from.address) }),
  );
  return { port: socket.address().port, socket };
}

/** Creates a forwarder that queries the name server at `port` of 127.0.0.1. */
export function forwarderTo(port: number, more: Partial<DnsForwarderOptions> = {}): Forwarder {
  const folder = mkdtempSync(join(tmpdir(), 'kts-dns-'));
  open.push({ close: () => rmSync(folder, { recursive: true, force: true }) });
  const resolvConf = join(folder, 'resolv.conf');
  writeFileSync(resolvConf, 'nameserver 127.0.0.1\n');
  return createDnsForwarder({ resolvConf, ownAddresses: ['127.0.0.9'], port, timeoutMs: 100, ...more });
}

export const emptyView: ClusterView = {
  domain: 'cluster.local',
  hasNamespace: () => true,
  service: () => undefined,
  slices: () => [],
  servicesAt: () => [],
  slicesWith: () => [],
  version: () => 0,
};
export const nameService = (forwarder: Forwarder, view: ClusterView = emptyView): NameService =>
  createNameService({ view: () => view, forwarder, log: silentLogger });

export async function serve(service: NameService, more: Partial<DnsServerOptions> = {}): Promise<DnsServer> {
  const server = await startDnsServer({ address: '127.0.0.1', port: 0, service, ...more });
  open.push(server);
  return server;
}

/** Returns the outcome of one question: the data of the answers, or the error code. */
export async function outcome(port: number, message: Buffer = question()): Promise<unknown[] | string> {
  const answer = await nameService(forwarderTo(port))(message, 'udp');
  assert.ok(answer);
  const packet = decode(answer);
  return rcodeOf(packet) === 'NOERROR' ? dataOf(packet) : rcodeOf(packet);
}
