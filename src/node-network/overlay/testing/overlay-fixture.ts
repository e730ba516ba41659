import assert from 'node:assert/strict';
import { createInformers } from '../../../api/client/informer.ts';
import { nodes } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../../api/core/node.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakePacketFilter } from '../../service-routing/testing/fake-packet-filter.ts';
import type { Overlay, OverlayOptions } from '../overlay-manager.ts';
import { createOverlay } from '../overlay-manager.ts';
import { cable, FakeKernel } from './fake-kernel.ts';

/** An annotation of flannel. */
export const flannelKey = (name: string): string => `flannel.alpha.coreos.com/${name}`;

/** The overlay of node "one" on a fake kernel, beside a fake API server. */
export class OverlayFixture {
  readonly clock = new FakeClock();
  readonly api = new FakeApiClient({ clock: this.clock, random: seededRandom(1) });
  readonly kernel = new FakeKernel([cable('192.168.0.1')]);
  readonly filters = { ipv4: new FakePacketFilter(), ipv6: new FakePacketFilter() };
  readonly files = new Map<string, string>();
  readonly log = recordingLog();
  /** The written paths, in order. */
  readonly written: string[] = [];
  readonly overlay: Overlay;
  isJoined = false;
  readonly #informers;

  constructor(options: Partial<OverlayOptions> = {}) {
    const parts = { client: this.api, clock: this.clock, random: seededRandom(2), log: this.log };
    this.#informers = createInformers(parts);
    this.overlay = createOverlay(
      {
        ...{ nodeName: 'one', backend: 'vxlan', vni: 1, port: 8472, networks: { ipv4: '10.244.0.0/16' } },
        ...{ publicIps: {}, serviceCidrs: { ipv4: '10.96.0.0/16' }, chainPrefix: 'KTO', subnetFile: '/run/subnet.env' },
        cni: { file: '/etc/cni.conflist', networkName: 'cbr0', bridge: 'cni0', dataDir: undefined },
        ...options,
      },
      {
        ...parts,
        informers: this.#informers,
        kernel: this.kernel,
        filters: this.filters,
        readFile: (path) => this.files.get(path),
        writeFile: (path, text) => {
          this.written.push(path);
          this.files.set(path, text);
        },
      },
    );
    void this.overlay.whenJoined().then(() => (this.isJoined = true));
  }

  /** The log messages above the level info. */
  get complaints(): string[] {
    return this.log.lines.filter(({ level }) => level !== 'info').map(({ message }) => message);
  }

  get patches(): number {
    return this.api.calls.filter(({ verb }) => verb === 'patch').length;
  }

  changeOwn(change: (node: Node) => Node): void {
    this.api.change(nodes, { namespace: '', name: 'one' }, change);
  }

  annotation(name: string): string | undefined {
    return this.own.metadata.annotations?.[flannelKey(name)];
  }

  async start(): Promise<void> {
    this.overlay.start();
    this.#informers.start();
    await this.clock.advance(200);
  }

  addPeer(name: string, at: number): void {
    const annotations = {
      [flannelKey('kube-subnet-manager')]: 'true',
      [flannelKey('backend-type')]: 'vxlan',
      [flannelKey('backend-data')]: `{"VNI":1,"VtepMAC":"02:00:00:00:00:0${at}"}`,
      [flannelKey('public-ip')]: `192.168.0.${at}`,
    };
    this.api.seed(nodes, {
      metadata: { name, namespace: '', uid: '', annotations },
      spec: { podCIDRs: [`10.244.${at}.0/24`] },
    });
  }

  get own(): Node {
    return this.api.all(nodes).find(({ metadata }) => metadata.name === 'one') ?? assert.fail('no node');
  }

  get remotes(): string[] {
    return this.kernel.forwarding.map(({ mac, remote }) => `${mac.slice(-2)} ${remote}`);
  }

  async stop(): Promise<void> {
    await this.overlay.stop();
    await this.#informers.stop();
  }
}

export const ownNode: Node = {
  metadata: { name: 'one', namespace: '', uid: '' },
  spec: { podCIDRs: ['10.244.1.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
};

/** A fixture whose node has joined the network. */
export async function joined(options: Partial<OverlayOptions> = {}, node: Partial<Node> = {}): Promise<OverlayFixture> {
  const world = new OverlayFixture(options);
  world.api.seed(nodes, { ...ownNode, ...node });
  await world.start();
  return world;
}
