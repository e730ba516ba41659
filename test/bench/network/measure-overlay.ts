// Throughput from one namespace to another through VXLAN: with the devices of our plan, and with devices that are
// created by hand as flannel's documentation describes. They alternate, because the machine has other work too.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInformers } from '../../../src/api/client/informer.ts';
import { nodes } from '../../../src/api/client/resource-types.ts';
import { FakeApiClient } from '../../../src/api/client/testing/fake-api-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom, systemRandom } from '../../../src/base/random.ts';
import { createIpNetwork } from '../../../src/node-network/adapters/ip-network.ts';
import { createIptables } from '../../../src/node-network/adapters/iptables.ts';
import { createOverlay } from '../../../src/node-network/overlay/overlay-manager.ts';
import { runCommand, tryCommand } from '../../../src/up/commands.ts';
import { waitUntil } from '../../../src/up/processes.ts';

const ROUNDS = 5;
const SECONDS = 2;
const ends = [1, 2] as const;
const space = (at: number): string => `ktb${process.pid}o${at}`;
const inSpace = (at: number, ...argv: string[]): string[] => ['ip', 'netns', 'exec', space(at), ...argv];
const batch = (at: number, lines: readonly string[]): Promise<string> =>
  runCommand(['ip', '-n', space(at), '-batch', '-'], Buffer.from(`${lines.join('\n')}\n`));

async function makeMachines(): Promise<void> {
  for (const at of ends) await runCommand(['ip', 'netns', 'add', space(at)]);
  await batch(1, [`link add eth0 type veth peer name eth0 netns ${space(2)}`]);
  for (const at of ends)
    await batch(at, [
      'link set lo up',
      `address add 192.168.78.${at}/24 dev eth0`,
      'link set eth0 up',
      'link add cni0 type bridge',
      `address add 10.244.${at}.1/24 dev cni0`,
      'link set cni0 up',
    ]);
}

const mac = (at: number): string => `02:00:00:00:00:0${at}`;

async function connectByHand(): Promise<() => Promise<void>> {
  for (const at of ends) {
    const other = 3 - at;
    await batch(at, [
      `link add flannel.2 address ${mac(at)} mtu 1450 type vxlan id 2 dev eth0 local 192.168.78.${at} dstport 8472 nolearning`,
      `address add 10.244.${at}.0/32 dev flannel.2`,
      'link set flannel.2 up',
      `neighbour add 10.244.${other}.0 lladdr ${mac(other)} dev flannel.2 nud permanent`,
      `route add 10.244.${other}.0/24 via 10.244.${other}.0 dev flannel.2 onlink`,
    ]);
    await runCommand(
      inSpace(
        at,
        ...['bridge', 'fdb', 'add', mac(other), 'dev', 'flannel.2', 'dst', `192.168.78.${other}`, 'self', 'permanent'],
      ),
    );
    // As in flannel (upstream: flannel ethtool.EthtoolTXOff), with the program that the machine has for it.
    await createIpNetwork(inSpace(at).slice(0, 4)).disableChecksumOffload('flannel.2');
  }
  return async () => {
    for (const at of ends) await batch(at, ['link del flannel.2']);
  };
}

async function connectByOverlay(): Promise<() => Promise<void>> {
  const api = new FakeApiClient({ clock: systemClock, random: seededRandom(1) });
  for (const at of ends)
    api.seed(nodes, {
      metadata: { name: `node-${at}`, namespace: '', uid: '' },
      spec: { podCIDRs: [`10.244.${at}.0/24`] },
      status: { addresses: [{ type: 'InternalIP', address: `192.168.78.${at}` }] },
    });
  const parts = { client: api, clock: systemClock, random: systemRandom, log: silentLogger };
  const running = ends.map((at) => {
    const informers = createInformers(parts);
    const overlay = createOverlay(
      {
        ...{ nodeName: `node-${at}`, backend: 'vxlan', vni: 1, port: 8472, networks: { ipv4: '10.244.0.0/16' } },
        ...{ publicIps: {}, serviceCidrs: {}, chainPrefix: 'KTO', subnetFile: undefined, cni: undefined },
      },
      {
        ...parts,
        informers,
        kernel: createIpNetwork(inSpace(at).slice(0, 4)),
        filters: {
          ipv4: createIptables(inSpace(at).slice(0, 4)),
          ipv6: createIptables(inSpace(at).slice(0, 4), 'IPv6'),
        },
        readFile: () => undefined,
        writeFile: () => undefined,
      },
    );
    overlay.start();
    informers.start();
    return { overlay, informers };
  });
  await Promise.all(running.map(({ overlay }) => overlay.whenJoined()));
  // Each has to know the other's annotations.
  const path = (): Promise<boolean> =>
    tryCommand(inSpace(1, 'ip', 'route', 'get', '10.244.2.1')).then(({ stdout }) => stdout.includes('flannel.1'));
  const back = (): Promise<boolean> =>
    tryCommand(inSpace(2, 'ip', 'route', 'get', '10.244.1.1')).then(({ stdout }) => stdout.includes('flannel.1'));
  if (!(await waitUntil(async () => (await path()) && (await back()), 20_000, 50)))
    throw new Error('the overlay did not come up');
  return async () => {
    for (const { overlay, informers } of running) {
      await overlay.stop();
      await informers.stop();
    }
    for (const at of ends) await batch(at, ['link del flannel.1']);
  };
}

const SINK =
  'my $s = IO::Socket::INET->new(Listen => 1, LocalPort => 9999, ReuseAddr => 1) or die; print "ready\\n"; $| = 1; my $c = $s->accept; my ($n, $b) = (0, ""); while (my $r = sysread $c, $b, 1048576) { $n += $r } print "$n\\n";';
const SOURCE = `my $s = IO::Socket::INET->new(PeerAddr => "10.244.2.1", PeerPort => 9999) or die; my $b = "x" x 262144; my $end = time + ${SECONDS}; syswrite $s, $b while time < $end;`;

/** Megabytes per second. */
async function transfer(): Promise<number> {
  const perl = (at: number, program: string): string[] =>
    inSpace(at, 'perl', '-MIO::Socket::INET', '-MTime::HiRes=time', '-e', `$| = 1; ${program}`);
  const [command = '', ...args] = perl(2, SINK);
  const sink = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  sink.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const closed = once(sink, 'close');
  await once(sink.stdout, 'data');
  await runCommand(perl(1, SOURCE));
  await closed;
  return Number(output.trim().split('\n').at(-1)) / SECONDS / 1e6;
}

export async function measureOverlay(): Promise<{
  readonly ours: readonly number[];
  readonly byHand: readonly number[];
}> {
  const [ours, byHand]: [number[], number[]] = [[], []];
  try {
    await makeMachines();
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [connect, figures] of [
        [connectByOverlay, ours],
        [connectByHand, byHand],
      ] as const) {
        const disconnect = await connect();
        figures.push(await transfer());
        await disconnect();
      }
    return { ours, byHand };
  } finally {
    for (const at of ends) await tryCommand(['ip', 'netns', 'del', space(at)]);
  }
}
