// The rules of services in a real kernel, with network namespaces for the node, its pods and an external client; and
// the name service on real sockets.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { decode, encode } from 'dns-packet';
import { createSocket } from 'node:dgram';
import { createIptables } from '../../../src/node-network/adapters/iptables.ts';
import { createDnsForwarder } from '../../../src/node-network/adapters/dns-forwarder.ts';
import type { DnsServer } from '../../../src/node-network/adapters/dns-server.ts';
import { startDnsServer } from '../../../src/node-network/adapters/dns-server.ts';
import { computeRoutes } from '../../../src/node-network/service-routing/compute-routes.ts';
import { computeRestore, isWhole, parsePresent } from '../../../src/node-network/service-routing/restore-text.ts';
import type { AdmittedPort, RulesFacts } from '../../../src/node-network/service-routing/rules-facts.ts';
import type { Ruleset } from '../../../src/node-network/service-routing/ruleset.ts';
import { renderRuleset } from '../../../src/node-network/service-routing/ruleset.ts';
import type { Service } from '../../../src/api/core/service.ts';
import type { EndpointSlice } from '../../../src/api/discovery/endpoint-slice.ts';
import { runCommand, tryCommand } from '../../../src/up/commands.ts';
import { describeProcess, stopProcess, waitUntil } from '../../../src/up/processes.ts';

const id = process.pid.toString(16);
const space = (name: string): string => `kts${id}${name}`;
const node = space('n');
const inside = (name: string): string[] => ['ip', 'netns', 'exec', name];
const filter = createIptables(inside(node));
const folder = mkdtempSync(join(tmpdir(), 'kts-routing-'));
const facts = {
  chainPrefix: 'KTS-0123abcd',
  podCidr: '10.84.0.0/22',
  serviceCidr: '10.96.0.0/16',
  bridgeNetfilter: true,
};
const PODS = ['10.84.0.2', '10.84.0.3'];
const OUTSIDE = '192.0.2.9';
const servers: number[] = [];
const SERVER = `
const address = process.argv.at(-1);
require('node:http').createServer((question, answer) => answer.end(address + ' saw ' + question.socket.remoteAddress)).listen(8080, address);
`;
const CLIENT = `
const { get } = require('node:http');
const [host, port] = process.argv.slice(-2);
const call = get({ host, port, timeout: 1500 }, (answer) => answer.on('data', (text) => console.log(String(text).trim())));
call.on('timeout', () => call.destroy(Object.assign(new Error(), { code: 'timeout' })));
call.on('error', (error) => console.log(error.code === 'ECONNREFUSED' ? 'refused' : error.code));
`;
let applied: Ruleset | undefined;

const ip = (...args: string[]): Promise<string> => runCommand(['ip', ...args]);

/** A bridge with two pods that serve their own addresses, and a network with a client of the node. */
before(async () => {
  await ip('netns', 'add', node);
  await ip('-n', node, 'link', 'set', 'lo', 'up');
  await ip('-n', node, 'link', 'add', 'name', 'bridge0', 'type', 'bridge');
  await ip('-n', node, 'addr', 'add', '10.84.0.1/22', 'dev', 'bridge0');
  await ip('-n', node, 'link', 'set', 'bridge0', 'up');
  await ip('-n', node, 'route', 'add', facts.serviceCidr, 'dev', 'bridge0', 'src', '10.84.0.1');
  await runCommand([
    ...inside(node),
    'sh',
    '-c',
    'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables',
  ]);
  for (const [index, address] of PODS.entries()) {
    await joinNode(space(`p${index}`), `v${index}`, `${address}/22`, '10.84.0.1');
    await ip('-n', node, 'link', 'set', `v${index}`, 'master', 'bridge0');
    await runCommand([...inside(node), 'sh', '-c', `echo 1 > /sys/class/net/v${index}/brport/hairpin_mode`]);
    const child = spawn('ip', ['netns', 'exec', space(`p${index}`), process.execPath, '-e', SERVER, address], {
      stdio: 'ignore',
    });
    servers.push(child.pid ?? 0);
  }
  await joinNode(space('o'), 'out', `${OUTSIDE}/24`, '192.0.2.1');
  await ip('-n', node, 'addr', 'add', '192.0.2.1/24', 'dev', 'out');
  for (const address of PODS)
    assert.ok(
      await waitUntil(async () => (await get(node, `${address}:8080`)).startsWith(address), 5000),
      `${address} does not serve`,
    );
});

after(async () => {
  for (const pid of servers) await stopProcess(describeProcess(pid), 500);
  for (const name of ['p0', 'p1', 'o', 'n']) await tryCommand(['ip', 'netns', 'del', space(name)]);
  rmSync(folder, { recursive: true, force: true });
});

async function joinNode(name: string, link: string, address: string, gateway: string): Promise<void> {
  await ip('netns', 'add', name);
  await ip('-n', node, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  await ip('-n', node, 'link', 'set', link, 'up');
  await ip('-n', name, 'link', 'set', 'lo', 'up');
  await ip('-n', name, 'addr', 'add', address, 'dev', 'eth0');
  await ip('-n', name, 'link', 'set', 'eth0', 'up');
  await ip('-n', name, 'route', 'add', 'default', 'via', gateway);
}

/** The server that answered and the client address it saw; or the error. */
async function get(from: string, target: string): Promise<string> {
  const [host = '', port = '80'] = target.split(':');
  return (await runCommand([...inside(from), process.execPath, '-e', CLIENT, host, port])).trim();
}

const service = (spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { name: 'web', namespace: 'default', uid: 'w' },
  spec: { type: 'NodePort', clusterIP: '10.96.0.20', ports: [{ port: 80, protocol: 'TCP', nodePort: 30080 }], ...spec },
});
const slice = (addresses: readonly string[], nodeName = 'node'): EndpointSlice => ({
  metadata: { name: 'web-1', namespace: 'default', uid: 's' },
  addressType: 'IPv4',
  endpoints: addresses.map((each) => ({ addresses: [each], nodeName })),
  ports: [{ name: '', port: 8080, protocol: 'TCP' }],
});

async function route(
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  admitted: readonly AdmittedPort[] = [],
  more: Partial<RulesFacts> = {},
): Promise<void> {
  const wanted = renderRuleset(
    computeRoutes(services, () => slices, { nodeName: 'node' }),
    { ...facts, admitted, ...more },
  );
  const text = computeRestore(wanted, parsePresent(await filter.read(), facts.chainPrefix), applied);
  if (text !== undefined) await filter.apply(text);
  applied = wanted;
  assert.ok(
    isWhole(wanted, parsePresent(await filter.read(), facts.chainPrefix)),
    'the kernel does not hold what it was given',
  );
}

test('a node port answers on 127.0.0.1, and nothing else of loopback is reached from a pod', async () => {
  await runCommand([...inside(node), 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/conf/bridge0/route_localnet']);
  const secret = spawn('ip', ['netns', 'exec', node, process.execPath, '-e', SERVER, '127.0.0.1'], { stdio: 'ignore' });
  try {
    assert.ok(await waitUntil(async () => (await get(node, '127.0.0.1:8080')).startsWith('127.0.0.1'), 5000));
    // A pod that sends to loopback by way of its gateway, as one with raw sockets can.
    const pod = space('p0');
    await ip('-n', pod, 'addr', 'del', '127.0.0.1/8', 'dev', 'lo');
    await ip('-n', pod, 'route', 'add', '127.0.0.1/32', 'via', '10.84.0.1', 'src', PODS[0] ?? '');
    await runCommand([...inside(pod), 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/conf/eth0/route_localnet']);
    await route([], []);
    assert.match(await get(pod, '127.0.0.1:8080'), /^127\.0\.0\.1/, 'the attack reaches what it is meant to reach');
    await route([service()], [slice(PODS)], [], { loopbackNodePorts: true });
    assert.doesNotMatch(await get(pod, '127.0.0.1:8080'), /^127\.0\.0\.1/);
    assert.ok(PODS.includes((await get(node, '127.0.0.1:30080')).split(' ')[0] ?? ''));
    assert.match(await get(node, '127.0.0.1:8080'), /^127\.0\.0\.1/, 'the node reaches its own loopback');
    await ip('-n', pod, 'route', 'del', '127.0.0.1/32');
    await ip('-n', pod, 'addr', 'add', '127.0.0.1/8', 'dev', 'lo');
  } finally {
    secret.kill('SIGKILL');
    await runCommand([...inside(node), 'sh', '-c', 'echo 0 > /proc/sys/net/ipv4/conf/bridge0/route_localnet']);
  }
});

test('a service answers on its address, from a pod, from the node, and to a pod that is its own endpoint', async () => {
  await route([service()], [slice(PODS)]);
  const answers = new Set<string>();
  for (let turn = 0; turn < 12 && answers.size < 2; turn += 1)
    answers.add((await get(node, '10.96.0.20')).split(' ')[0] ?? '');
  assert.deepEqual([...answers].sort(), PODS, 'both endpoints take their turn');
  await route([service()], [slice([PODS[1] ?? ''])]);
  assert.equal(await get(space('p0'), '10.96.0.20'), '10.84.0.3 saw 10.84.0.2');
  assert.equal(await get(space('p1'), '10.96.0.20'), '10.84.0.3 saw 10.84.0.1');
});

test('a node port answers outside through the node; with the policy Local it shows the client, and is closed where no pod is', async () => {
  await route([service()], [slice(PODS)]);
  assert.match(await get(space('o'), '192.0.2.1:30080'), /saw 10\.84\.0\.1$/);
  await route([service({ externalTrafficPolicy: 'Local' })], [slice(PODS)]);
  assert.match(await get(space('o'), '192.0.2.1:30080'), new RegExp(`saw ${OUTSIDE}$`));
  await route([service({ externalTrafficPolicy: 'Local' })], [slice(PODS, 'other')]);
  assert.equal(await get(space('o'), '192.0.2.1:30080'), 'timeout');
});

test('an external address leads in, from outside and from here', async () => {
  await route([service({ externalIPs: ['203.0.113.7'] })], [slice(PODS)]);
  assert.match(await get(space('o'), '203.0.113.7'), /saw 10\.84\.0\.1$/);
  assert.match(await get(space('p0'), '203.0.113.7'), /^10\.84/);
});

test('a client of a service with affinity stays with its endpoint', async () => {
  await route([service({ sessionAffinity: 'ClientIP' })], [slice(PODS)]);
  const answers = new Set<string>();
  for (let turn = 0; turn < 8; turn += 1) answers.add(await get(space('o'), '192.0.2.1:30080'));
  assert.equal(answers.size, 1, [...answers].join());
});

test('without endpoints, and on unused addresses, a connection is refused at once; when the service goes, nothing of it stays', async () => {
  await route([service()], []);
  for (const [from, target] of [
    [space('p0'), '10.96.0.20'],
    [node, '10.96.0.20'],
    [space('o'), '192.0.2.1:30080'],
    [space('p0'), '10.96.9.9'],
    [node, '10.96.9.9'],
  ] as const)
    assert.equal(await get(from, target), 'refused', `${from} ${target}`);
  await route([], []);
  assert.doesNotMatch(await filter.read(), /10\.96\.0\.20|30080/);
});

test('hostile services cannot inject rules into a real kernel: other services work, and the node keeps its own ports', async () => {
  const server = spawn('ip', ['netns', 'exec', node, process.execPath, '-e', SERVER, '10.84.0.1'], { stdio: 'ignore' });
  servers.push(server.pid ?? 0);
  assert.ok(
    await waitUntil(async () => (await get(space('p0'), '10.84.0.1:8080')).startsWith('10.84.0.1 saw'), 5000),
    'the node serves on a port of its own',
  );
  const INJECTED = 'x"\n-A INPUT -s 192.0.2.9 -j DROP\nCOMMIT\n';
  const thief = (index: number, spec: Partial<Service['spec']>): Service => ({
    ...service({
      type: 'LoadBalancer',
      clusterIP: `10.96.1.${index}`,
      ports: [{ port: 8080, protocol: 'TCP' }],
      ...spec,
    }),
    metadata: { name: `a${index}`, namespace: 'attacker', uid: `a${index}` },
  });
  const hostile: Service[] = [
    thief(1, { externalIPs: ['10.84.0.1', '10.96.0.20', '10.84.0.3', INJECTED] }),
    thief(2, {
      ports: [
        { port: 8080, protocol: INJECTED as 'TCP' },
        { name: INJECTED, port: 81, protocol: 'TCP' },
      ],
    }),
    thief(3, {
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: INJECTED as unknown as number } },
    }),
    thief(4, { loadBalancerSourceRanges: [INJECTED], externalIPs: ['203.0.113.9'] }),
    thief(5, { type: 'NodePort', ports: [{ port: 80, protocol: 'TCP', nodePort: 8080 }] }),
    { ...thief(6, {}), metadata: { name: 'a'.repeat(300), namespace: 'attacker', uid: 'a6' } },
    { ...thief(7, {}), metadata: { name: INJECTED, namespace: 'attacker', uid: 'a7' } },
  ];
  for (const slices of [[slice([PODS[0] ?? '', '127.0.0.1', INJECTED])], []]) {
    applied = undefined;
    await route([...hostile, service()], slices, [{ ip: '10.84.0.1', protocol: 'tcp', port: 8080 }]);
    assert.match(await get(space('p0'), '10.84.0.1:8080'), /^10\.84\.0\.1 saw/, 'the port of the node is the node’s');
    assert.equal(await get(space('p0'), '10.96.0.20'), slices.length === 0 ? 'refused' : '10.84.0.2 saw 10.84.0.1');
    assert.doesNotMatch(await filter.read(), /192\.0\.2\.9|to-destination 127/);
  }
  await stopProcess(describeProcess(server.pid ?? 0), 500);
  applied = undefined;
  await route([], []);
});

test('the name service answers over UDP and TCP, and asks the node’s name server for the rest', async () => {
  const upstream = createSocket('udp4').bind(0, '127.0.0.1');
  await new Promise((resolve) => upstream.once('listening', resolve));
  upstream.on('message', (message, from) =>
    upstream.send(
      encode({
        type: 'response',
        id: message.readUInt16BE(0),
        questions: decode(message).questions ?? [],
        answers: [{ name: 'example.org', type: 'A', ttl: 1, data: '192.0.2.77' }],
      }),
      from.port,
      from.address,
    ),
  );
  const resolvConf = join(folder, 'resolv.conf');
  writeFileSync(resolvConf, 'nameserver 127.0.0.1\n');
  let server: DnsServer | undefined;
  try {
    const forwarder = createDnsForwarder({
      resolvConf,
      ownAddresses: ['127.0.0.9'],
      port: upstream.address().port,
      timeoutMs: 500,
    });
    server = await startDnsServer({
      address: '127.0.0.1',
      port: 0,
      service: (message, transport) =>
        transport === 'tcp' ? Promise.resolve(message) : forwarder.ask(message, transport),
    });
    const { port } = server;
    const question = encode({ type: 'query', id: 9, flags: 0x0100, questions: [{ name: 'example.org', type: 'A' }] });
    const answer = await new Promise<Buffer>((resolve) => {
      const client = createSocket('udp4').on('message', (message) => (client.close(), resolve(message)));
      client.send(question, port, '127.0.0.1');
    });
    assert.deepEqual(
      [decode(answer).id, decode(answer).answers?.map((each) => ('data' in each ? each.data : ''))],
      [9, ['192.0.2.77']],
    );
    const { askOverTcp } = await import('../support/dns-client.ts');
    assert.deepEqual(await askOverTcp(port, question), question, 'the message comes whole, however it is cut');
  } finally {
    await server?.close();
    upstream.close();
  }
});
