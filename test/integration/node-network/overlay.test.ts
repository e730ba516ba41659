// Namespaces stand for three machines on one cable, and others for pods on them. The overlay runs in this process, with
// the kernel's real devices and an API server in memory.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { createInformers } from '../../../src/api/client/informer.ts';
import { nodes } from '../../../src/api/client/resource-types.ts';
import { FakeApiClient } from '../../../src/api/client/testing/fake-api-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom, systemRandom } from '../../../src/base/random.ts';
import { createIpNetwork } from '../../../src/node-network/adapters/ip-network.ts';
import { createIptables } from '../../../src/node-network/adapters/iptables.ts';
import type { Backend } from '../../../src/node-network/overlay/overlay-node.ts';
import type { Overlay } from '../../../src/node-network/overlay/overlay-manager.ts';
import { createOverlay } from '../../../src/node-network/overlay/overlay-manager.ts';
import { runCommand, tryCommand } from '../../../src/up/commands.ts';
import { waitUntil } from '../../../src/up/processes.ts';

const id = process.pid.toString(16);
const space = (name: string): string => `kto${id}${name}`;
const cable = space('c');
const NUMBERS = [1, 2, 3];
const api = new FakeApiClient({ clock: systemClock, random: seededRandom(1) });
const files = new Map<string, string>();
const servers: ChildProcess[] = [];
const ends: (() => Promise<void>)[] = [];

const ip = (...args: string[]): Promise<string> => runCommand(['ip', ...args]);
const batch = (name: string, lines: readonly string[]): Promise<string> =>
  runCommand(['ip', '-n', name, '-batch', '-'], Buffer.from(`${lines.join('\n')}\n`));
/** Answers with the address of the client and enough data for many packets. */
const SERVER =
  'my $s = IO::Socket::INET->new(Listen => 9, LocalPort => 8080) or die; while (my $c = $s->accept) { print $c $c->peerhost, " ", "x" x 30000; close $c }';
const CLIENT =
  'my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 8080, Timeout => 1) or exit 1; alarm 2; local $/; my $t = <$s>; exit(length $t > 30000 ? print((split / /, $t)[0]) - 1 : 2)';
const perl = (name: string, program: string): string[] => [
  'ip',
  'netns',
  'exec',
  name,
  'perl',
  '-MIO::Socket::INET',
  '-e',
  program,
];
/** The address that the pod with this number sees for a client in `from`; undefined if it is not reached. */
const seenBy = async (from: string, at: number): Promise<string | undefined> => {
  const { code, stdout } = await tryCommand([...perl(from, CLIENT), `10.244.${at}.2`]);
  return code === 0 ? stdout : undefined;
};
const reaches = async (from: number, to: number): Promise<boolean> =>
  (await seenBy(space(`p${from}`), to)) === `10.244.${from}.2`;
const eventually = async (check: () => Promise<boolean>, what: string): Promise<void> =>
  assert.ok(await waitUntil(check, 10_000, 50), what);

async function addMachine(at: number): Promise<void> {
  const [machine, pod] = [space(`n${at}`), space(`p${at}`)];
  for (const name of [machine, pod]) await ip('netns', 'add', name);
  await batch(machine, [
    'link set lo up',
    `link add eth0 type veth peer name ${space(`v${at}`).slice(-14)} netns ${cable}`,
    `address add 192.168.77.${at}/24 dev eth0`,
    'link set eth0 up',
    'link add cni0 type bridge',
    `address add 10.244.${at}.1/24 dev cni0`,
    'link set cni0 up',
    `link add veth0 type veth peer name eth0 netns ${pod}`,
    'link set veth0 master cni0 up',
  ]);
  await batch(cable, [`link set ${space(`v${at}`).slice(-14)} master switch up`]);
  await batch(pod, [
    'link set lo up',
    `address add 10.244.${at}.2/24 dev eth0`,
    'link set eth0 mtu 1450 up',
    `route add default via 10.244.${at}.1`,
  ]);
  servers.push(spawn('ip', perl(pod, SERVER).slice(1), { stdio: 'ignore' }));
  await runCommand(['ip', 'netns', 'exec', machine, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
}

const addNode = (at: number): void =>
  void api.seed(nodes, {
    metadata: { name: `node-${at}`, namespace: '', uid: '' },
    spec: { podCIDRs: [`10.244.${at}.0/24`] },
    status: { addresses: [{ type: 'InternalIP', address: `192.168.77.${at}` }] },
  });

function startOverlay(at: number, backend: Backend): Overlay {
  const prefix = ['ip', 'netns', 'exec', space(`n${at}`)];
  const parts = { client: api, clock: systemClock, random: systemRandom, log: silentLogger };
  const informers = createInformers(parts);
  const overlay = createOverlay(
    {
      ...{ nodeName: `node-${at}`, backend, vni: 1, port: 8472, networks: { ipv4: '10.244.0.0/16' }, publicIps: {} },
      ...{ serviceCidrs: {}, chainPrefix: 'KTO', subnetFile: `subnet-${at}`, cni: undefined },
    },
    {
      ...parts,
      informers,
      kernel: createIpNetwork(prefix),
      filters: { ipv4: createIptables(prefix), ipv6: createIptables(prefix, 'IPv6') },
      readFile: (path) => files.get(path),
      writeFile: (path, text) => void files.set(path, text),
    },
  );
  overlay.start();
  informers.start();
  ends.push(async () => {
    await overlay.stop();
    await informers.stop();
  });
  return overlay;
}

async function stopOverlays(): Promise<void> {
  await Promise.all(ends.splice(0).map((end) => end()));
}

before(async () => {
  await ip('netns', 'add', cable);
  await batch(cable, ['link add switch type bridge', 'link set switch up']);
  for (const at of NUMBERS) await addMachine(at);
});

after(async () => {
  await stopOverlays();
  for (const server of servers) server.kill();
  for (const name of [...NUMBERS.flatMap((at) => [space(`n${at}`), space(`p${at}`)]), cable])
    await tryCommand(['ip', 'netns', 'del', name]);
});

test('pods of two nodes reach each other by VXLAN with their own addresses, and in full packets', async () => {
  for (const at of [1, 2]) addNode(at);
  await Promise.all([1, 2].map((at) => startOverlay(at, 'vxlan').whenJoined()));
  await eventually(() => reaches(1, 2), 'the first pod reaches the second');
  assert.ok(await reaches(2, 1), 'with its own address');
  assert.match(files.get('subnet-1') ?? '', /^FLANNEL_SUBNET=10\.244\.1\.1\/24\nFLANNEL_MTU=1450$/m);
  const masked = await tryCommand(['ip', 'netns', 'exec', space('n1'), 'iptables-save', '-t', 'nat']);
  assert.match(masked.stdout, /-A KTO-POSTROUTING -s 10\.244\.0\.0\/16 -d 10\.244\.0\.0\/16 -j RETURN/);
});

test('a third node joins a network of two, and leaves it without a trace', async () => {
  addNode(3);
  await startOverlay(3, 'vxlan').whenJoined();
  await eventually(() => reaches(3, 1), 'the third reaches the first');
  await eventually(() => reaches(2, 3), 'the second reaches the third');
  await api.delete(nodes, { namespace: '', name: 'node-3' });
  await eventually(async () => {
    const { routes, neighbours, forwarding } = await createIpNetwork(['ip', 'netns', 'exec', space('n1')]).read();
    return (
      !JSON.stringify([routes, neighbours, forwarding]).includes('10.244.3.0') &&
      !JSON.stringify(forwarding).includes('192.168.77.3')
    );
  }, 'routes, neighbours and entries of the third are gone');
  assert.ok(await reaches(1, 2));
});

test('a route, an entry, a neighbour or a device that another program removes is restored at once', async () => {
  const machine = space('n1');
  for (const args of [
    ['ip', '-n', machine, 'route', 'del', '10.244.2.0/24'],
    ['ip', '-n', machine, 'neigh', 'del', '10.244.2.0', 'dev', 'flannel.1'],
    ['ip', '-n', machine, 'link', 'del', 'flannel.1'],
    ['ip', '-n', machine, 'link', 'set', 'flannel.1', 'down'],
  ]) {
    await runCommand(args);
    await eventually(() => reaches(1, 2), `after ${args.join(' ')}`);
  }
  await runCommand([
    'sh',
    '-c',
    `ip netns exec ${machine} bridge fdb show dev flannel.1 | while read mac rest; do ip netns exec ${machine} bridge fdb del "$mac" dev flannel.1; done`,
  ]);
  await eventually(() => reaches(1, 2), 'after the forwarding entries');
});

test('the same nodes reach each other by routes with host-gw', async () => {
  await stopOverlays();
  for (const at of [1, 2]) await ip('-n', space(`n${at}`), 'link', 'del', 'flannel.1');
  await Promise.all([1, 2].map((at) => startOverlay(at, 'host-gw').whenJoined()));
  await eventually(() => reaches(1, 2), 'the first pod reaches the second');
  assert.match(await ip('-n', space('n1'), 'route'), /10\.244\.2\.0\/24 via 192\.168\.77\.2 dev eth0 proto 84/);
});
