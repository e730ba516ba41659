// Runs the programs of a node's network with fakes of the kernel and of an API server, in virtual time: service routing
// with both backends, network policies, and the network between nodes.
import { createInformers } from '../../src/api/client/informer.ts';
import {
  endpointSlices,
  namespaces,
  networkPolicies,
  nodes,
  pods,
  services,
} from '../../src/api/client/resource-types.ts';
import { FakeApiClient } from '../../src/api/client/testing/fake-api-client.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';
import { seededRandom } from '../../src/base/random.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { createPolicyEnforcer } from '../../src/node-network/network-policy/policy-enforcer.ts';
import { FakeNft } from '../../src/node-network/nftables/testing/fake-nft.ts';
import type { KernelLink, NetworkStep } from '../../src/node-network/overlay/kernel-network.ts';
import { createOverlay } from '../../src/node-network/overlay/overlay-manager.ts';
import { cable, FakeKernel } from '../../src/node-network/overlay/testing/fake-kernel.ts';
import { createNftRouter } from '../../src/node-network/service-routing/nft-router.ts';
import { createServiceRouter } from '../../src/node-network/service-routing/service-router.ts';
import { FakePacketFilter } from '../../src/node-network/service-routing/testing/fake-packet-filter.ts';
import { facts, service, slice } from '../../src/node-network/service-routing/testing/service-builders.ts';

/** Refuses a change, or makes all or half of it and then reports a failure. */
class FaultyKernel extends FakeKernel {
  faults = 0;
  readonly #random: Random;

  constructor(links: KernelLink[], random: Random) {
    super(links);
    this.#random = random;
  }

  override async apply(steps: readonly NetworkStep[]): Promise<void> {
    if (this.faults <= 0) return super.apply(steps);
    this.faults -= 1;
    await super.apply(steps.slice(0, Math.floor(this.#random.next() * (steps.length + 1))));
    throw new Error('ip failed');
  }
}

/** Makes a change and then reports a failure, like a call that times out after it took effect. */
class LateNft extends FakeNft {
  late = 0;

  override async apply(text: string): Promise<void> {
    await super.apply(text);
    if (this.late <= 0) return;
    this.late -= 1;
    throw new Error('nft did not end in time');
  }
}

/** The state that outlives the programs. */
export class KernelSide {
  readonly services = new LateNft();
  readonly policies = new LateNft();
  readonly filter = new FakePacketFilter();
  readonly overlayFilter = new FakePacketFilter();
  readonly network: FaultyKernel;
  readonly files = new Map<string, string>();
  /** The number of further writes of a file that fail because the disk is full. */
  fullDisk = 0;

  constructor(random: Random, address = '192.168.0.1') {
    this.network = new FaultyKernel([cable(address)], random);
  }

  writeFile(path: string, text: string): void {
    if (this.fullDisk > 0) {
      this.fullDisk -= 1;
      throw new Error('ENOSPC: no space left on device');
    }
    this.files.set(path, text);
  }

  /** The content, for comparisons. */
  content(): object {
    const { routes, neighbours, forwarding, links } = this.network;
    const sorted = (list: readonly unknown[]): string[] => list.map((each) => JSON.stringify(each)).toSorted();
    const rules = (filter: FakePacketFilter): object =>
      (['nat', 'filter'] as const).map((table) =>
        filter
          .chainNames(table)
          .map((chain) => `${chain}: ${filter.rules(table, chain)?.join(' | ')}`)
          .toSorted(),
      );
    return {
      services: this.services.content(),
      policies: this.policies.content(),
      filter: rules(this.filter),
      overlayFilter: rules(this.overlayFilter),
      files: Object.fromEntries(this.files),
      network: [sorted(routes), sorted(neighbours), sorted(forwarding), links.map(({ name, mtu }) => `${name} ${mtu}`)],
    };
  }
}

export class NetworkWorld {
  readonly clock = new FakeClock();
  readonly api: FakeApiClient;
  readonly random: Random;
  lagMs = 0;
  /** The address of the node. */
  address = '192.168.0.1';
  #stop: (() => Promise<void>) | undefined;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.api = new FakeApiClient({ clock: this.clock, random: seededRandom(seed + 1), watchLagMs: () => this.lagMs });
    this.api.seed(namespaces, { metadata: { name: 'default', namespace: '', uid: 'd' }, spec: {} });
    this.seedNode();
    this.api.seed(services, service('always', { clusterIP: '10.96.0.9' }));
    this.api.seed(endpointSlices, slice('always', ['10.84.0.250']));
  }

  /** Creates the node as its agent registers it. */
  seedNode(): void {
    if (this.api.peek(nodes, { namespace: '', name: 'node' }) !== undefined) return;
    this.api.seed(nodes, {
      metadata: { name: 'node', namespace: '', uid: '' },
      spec: { podCIDRs: ['10.244.0.0/24'] },
      status: { addresses: [{ type: 'InternalIP', address: this.address }] },
    });
  }

  removeNode(): void {
    this.api.remove(nodes, { namespace: '', name: 'node' });
  }

  /** Gives the machine another address, which its agent reports. */
  moveNode(kernel: KernelSide): void {
    this.address = this.address === '192.168.0.1' ? '192.168.0.2' : '192.168.0.1';
    const addresses = [`${this.address}/24`];
    kernel.network.disturb(
      (each) => (each.links = each.links.map((link) => (link.name === 'eth0' ? { ...link, addresses } : link))),
      `2: eth0    inet ${this.address}/24`,
    );
    this.api.change(nodes, { namespace: '', name: 'node' }, (node) => ({
      ...node,
      status: { ...node.status, addresses: [{ type: 'InternalIP', address: this.address }] },
    }));
  }

  /** Starts the programs as their main file does. */
  start(kernel: KernelSide): void {
    const parts = { clock: this.clock, random: this.random, log: silentLogger };
    const informers = createInformers({ client: this.api, ...parts });
    const common = { informers, nodeName: 'node', ...parts };
    const programs = [
      createServiceRouter({ ...common, filter: kernel.filter, facts }),
      createNftRouter({
        ...common,
        nft: kernel.services,
        tableName: 's',
        facts: [
          {
            ...{ family: 'IPv4', podCidr: facts.podCidr, serviceCidr: facts.serviceCidr },
            ...{ bridgeNetfilter: true, kept: [], loopbackNodePorts: false },
          },
        ],
      }),
      createPolicyEnforcer({
        ...{ client: this.api, nft: kernel.policies, tableName: 'p', filterBridged: () => true },
        ...common,
      }),
      createOverlay(
        {
          ...{ nodeName: 'node', backend: 'vxlan', vni: 1, port: 8472, networks: { ipv4: '10.244.0.0/16' } },
          ...{
            publicIps: {},
            serviceCidrs: { ipv4: '10.96.0.0/16' },
            chainPrefix: 'KTO',
            subnetFile: '/run/subnet.env',
            cni: undefined,
          },
        },
        {
          ...{
            client: this.api,
            kernel: kernel.network,
            readFile: (path) => kernel.files.get(path),
            writeFile: (path, text) => kernel.writeFile(path, text),
          },
          filters: { ipv4: kernel.overlayFilter, ipv6: kernel.overlayFilter },
          ...common,
        },
      ),
    ];
    for (const program of programs) program.start();
    informers.start();
    this.#stop = async () => {
      await Promise.all(programs.map((program) => program.stop()));
      await informers.stop();
    };
  }

  /** Stops the programs; the kernel's state stays. */
  async stop(): Promise<void> {
    const stopping = this.#stop?.();
    this.#stop = undefined;
    await this.clock.advance(100);
    await stopping;
  }

  pick(count: number): number {
    return Math.floor(this.random.next() * count);
  }

  /** Makes a random change as users or controllers would. */
  act(): void {
    const at = this.pick(6);
    const name = `web-${at}`;
    const key = { namespace: 'default', name };
    const ips = Array.from({ length: this.pick(4) }, () => `10.84.0.${2 + this.pick(40)}`);
    switch (this.pick(7)) {
      case 0:
        this.api.seed(services, service(name, { clusterIP: `10.96.1.${at + 1}`, type: 'NodePort' }));
        return;
      case 1:
        this.api.remove(services, key);
        return;
      case 2:
      case 3:
        this.api.seed(endpointSlices, slice(name, [...new Set(ips)]));
        return;
      case 4:
        this.api.seed(networkPolicies, {
          metadata: { ...key, uid: name },
          spec: {
            podSelector: { matchLabels: { app: name } },
            policyTypes: ['Ingress'],
            ingress: [{ from: [{ podSelector: { matchLabels: { app: `web-${this.pick(6)}` } } }] }],
          },
        });
        return;
      case 5: {
        const ip = `10.84.0.${2 + at}`;
        if (this.pick(3) === 0) return this.api.remove(pods, key);
        this.api.seed(pods, {
          metadata: { ...key, uid: `${name}-${this.pick(2)}`, labels: { app: name } },
          spec: { nodeName: this.pick(2) === 0 ? 'node' : 'other', containers: [{ name: 'c' }] },
          status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] },
        });
        return;
      }
      default:
        return this.changePeer(at + 1);
    }
  }

  /** A machine joins, leaves, or is replaced by another one with the same name. */
  changePeer(at: number): void {
    const name = `peer-${at}`;
    if (this.pick(3) === 0) return this.api.remove(nodes, { namespace: '', name });
    const flannel = (word: string): string => `flannel.alpha.coreos.com/${word}`;
    this.api.seed(nodes, {
      metadata: {
        ...{ name, namespace: '', uid: `${name}-${this.pick(3)}` },
        annotations: {
          [flannel('kube-subnet-manager')]: 'true',
          [flannel('backend-type')]: 'vxlan',
          [flannel('backend-data')]: `{"VNI":1,"VtepMAC":"02:00:00:00:${this.pick(9)}0:0${at}"}`,
          [flannel('public-ip')]: `192.168.0.${10 + at + 10 * this.pick(2)}`,
        },
      },
      spec: { podCIDRs: [`10.244.${at}.0/24`] },
    });
  }
}
