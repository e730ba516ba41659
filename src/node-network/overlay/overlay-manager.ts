import type { ApiClient } from '../../api/client/api-client.ts';
import type { Informers } from '../../api/client/informer.ts';
import { nodes } from '../../api/client/resource-types.ts';
import { findCondition } from '../../api/conditions.ts';
import type { Node } from '../../api/core/node.ts';
import { formatTime } from '../../api/time.ts';
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { createSettlingLoop } from '../../base/settling-loop.ts';
import type { PacketFilter } from '../service-routing/packet-filter.ts';
import { computeRestore, isWhole, parsePresent } from '../service-routing/restore-text.ts';
import type { KernelLink, KernelNetwork, KernelState } from './kernel-network.ts';
import { ROUTE_PROTOCOL } from './kernel-network.ts';
import type { CniSettings } from './node-files.ts';
import { renderCniConfig, renderSubnetFile } from './node-files.ts';
import type { Endpoint, Family } from './overlay-node.ts';
import { families, overwrittenIp, ownAnnotations, peerOf, podRanges, rangeOf } from './overlay-node.ts';
import { overlayRules } from './overlay-rules.ts';
import type { OverlayPlan, OverlaySettings, OwnSide } from './plan-overlay.ts';
import { planOverlay, vxlanDevice } from './plan-overlay.ts';

export interface OverlayOptions extends OverlaySettings {
  readonly nodeName: string;
  /** The ranges of all pods, one per IP family. */
  readonly networks: Readonly<Partial<Record<Family, string>>>;
  /** The addresses of the node; absent means its internal address. */
  readonly publicIps: Readonly<Partial<Record<Family, string>>>;
  readonly serviceCidrs: Readonly<Partial<Record<Family, string>>>;
  readonly chainPrefix: string;
  readonly subnetFile: string | undefined;
  /** The CNI settings; absent if another program configures the CNI. */
  readonly cni: (CniSettings & { readonly file: string }) | undefined;
}

export interface OverlayParts {
  readonly client: ApiClient;
  readonly informers: Informers;
  readonly kernel: KernelNetwork;
  readonly filters: Readonly<Record<Family, PacketFilter>>;
  /** Returns the content of a file; undefined if there is none. */
  readonly readFile: (path: string) => string | undefined;
  /** Writes the file atomically, and creates its folder. */
  readonly writeFile: (path: string, text: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface Overlay {
  start(): void;
  /** Resolves when the node has joined the network. */
  whenJoined(): Promise<void>;
  /** Stops. The kernel's state stays, so traffic continues. */
  stop(): Promise<void>;
}

const GAP_MS = 30;
const CHECK_MS = 60_000;
const RETRY_MS = 1000;
const condition = {
  type: 'NetworkUnavailable',
  status: 'False' as const,
  reason: 'FlannelIsUp',
  message: 'Flannel is running on this node',
};

export function createOverlay(options: OverlayOptions, parts: OverlayParts): Overlay {
  const { informers, kernel } = parts;
  const work = new OverlayWork(options, parts);
  const loop = createSettlingLoop({
    ...parts,
    name: 'overlay',
    checkMs: CHECK_MS,
    retryMs: RETRY_MS,
    failure: 'unable to set up the network between nodes',
    gatherMs: () => GAP_MS,
    settle: () => work.settle(),
  });
  const { wake } = loop;
  const all = informers.for(nodes);
  let watching: { stop(): void } | undefined;
  let end = (): void => undefined;
  return {
    start: () => {
      end = all.addHandlers({
        onAdd: wake,
        onUpdate: (before, after) => {
          if (concernOf(before) !== concernOf(after) || after.metadata.name === options.nodeName) wake();
        },
        onDelete: wake,
      });
      watching = kernel.watch((line) => {
        // An address or an MTU may be what was missing.
        if (work.concerns(line) || (loop.hasFailed() && / (?:inet6?|mtu) /.test(line))) wake();
      });
      loop.start();
    },
    whenJoined: loop.whenSettled,
    stop: async () => {
      end();
      watching?.stop();
      await loop.stop();
    },
  };
}

/** Returns the part of a node on which the network depends. Its status changes all the time. */
const concernOf = (node: Node): string => JSON.stringify(peerOf(node) ?? null);

class OverlayWork {
  readonly #options: OverlayOptions;
  readonly #parts: OverlayParts;
  readonly #written = new Map<string, string>();
  readonly #reported = new Set<string>();
  /** Devices on which this run has set the offload. */
  readonly #offloaded = new Set<string>();
  /** The kernel's error in the last pass, if it refused an entry. */
  #refusal: string | undefined;
  readonly #rulesCheckedMs = new Map<Family, number>();

  constructor(options: OverlayOptions, parts: OverlayParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Whether a line of the kernel's events may concern our entries. */
  concerns(line: string): boolean {
    const { vni } = this.#options;
    return (
      families.some((family) => line.includes(vxlanDevice(family, vni))) || line.includes(`proto ${ROUTE_PROTOCOL}`)
    );
  }

  /** Updates the kernel. Resolves to false while the node is not part of the network. */
  async settle(): Promise<boolean> {
    const all = this.#parts.informers.for(nodes);
    if (!all.hasSynced()) return false;
    const { nodeName, backend } = this.#options;
    const node = all.get({ namespace: '', name: nodeName });
    if (backend === 'observe' || (node !== undefined && podRanges(node).length > 0))
      return this.#connect(node, all.list());
    this.#reportOnce('waiting for a range of pod addresses: spec.podCIDR of the node is empty', nodeName);
    return false;
  }

  /**
   * Resolves to false while the node has no range or no address of any family. Then it is not announced, and no file is
   * written.
   */
  async #connect(node: Node | undefined, list: readonly Node[]): Promise<boolean> {
    const { networks, backend } = this.#options;
    const actual = await this.#parts.kernel.read();
    const peers = list.flatMap((each) => peerOf(each) ?? []);
    const endpoints: Partial<Record<Family, Endpoint>> = {};
    const ranges: Partial<Record<Family, string>> = {};
    let mtu = Infinity;
    let failure: unknown;
    for (const family of families) {
      if (networks[family] === undefined) continue;
      const own = this.#ownSide(family, node, actual);
      if (own === undefined) continue;
      const plan = planOverlay(family, own, { settings: this.#options, peers, actual });
      try {
        await this.#apply(family, plan);
      } catch (error) {
        // Without its device the node cannot be announced. An entry that the kernel refuses, from the annotations of
        // another node, does not keep this node away.
        if (plan.steps.some(({ kind }) => kind === 'createVxlan')) throw error;
        failure = error;
      }
      mtu = Math.min(mtu, plan.mtu);
      if (own.range === undefined || node === undefined) continue;
      ranges[family] = own.range;
      const publicIp = overwrittenIp(node, family) ?? own.publicIp;
      endpoints[family] = { range: own.range, publicIp, mac: plan.mac };
    }
    const isMember = backend !== 'observe' && node !== undefined && Object.keys(endpoints).length > 0;
    if (isMember) await this.#join(node, { ranges, endpoints, mtu });
    const refusal = failure === undefined ? undefined : errorMessage(failure);
    const isNew = refusal !== this.#refusal;
    this.#refusal = refusal;
    // The same refusal is retried only at the next check, because it may last as long as the other node exists.
    if (failure !== undefined && isNew) throw failure;
    return isMember || backend === 'observe' || node === undefined;
  }

  async #join(
    node: Node,
    facts: {
      ranges: Readonly<Partial<Record<Family, string>>>;
      endpoints: Readonly<Partial<Record<Family, Endpoint>>>;
      mtu: number;
    },
  ): Promise<void> {
    const { networks, backend, vni } = this.#options;
    if (backend === 'observe') return;
    const { ranges, endpoints, mtu } = facts;
    for (const family of families) await this.#writeRules(family, ranges[family]);
    this.#writeFiles({ networks, ranges, mtu });
    await this.#announce(node, ownAnnotations({ backend, vni, endpoints }));
  }

  #ownSide(family: Family, node: Node | undefined, actual: KernelState): OwnSide | undefined {
    const { nodeName, networks, publicIps, backend } = this.#options;
    const isOfFamily = (ip: string): boolean => ip.includes(':') === (family === 'ipv6');
    const publicIp =
      publicIps[family] ??
      node?.status?.addresses?.find(({ type, address }) => type === 'InternalIP' && isOfFamily(address))?.address;
    const range = node === undefined || backend === 'observe' ? undefined : rangeOf(podRanges(node), family);
    if (publicIp === undefined || (backend !== 'observe' && range === undefined)) {
      this.#reportOnce(
        `no ${publicIp === undefined ? 'address' : 'range'} of the family; the node takes no part in it`,
        family,
      );
      return undefined;
    }
    const device = actual.links.find((link) => hasAddress(link, publicIp));
    if (device === undefined) throw new Error(`no network device has the address ${publicIp}`);
    const known = node === undefined ? undefined : peerOf(node)?.[family]?.mac;
    const network = networks[family] ?? '';
    return { nodeName, network, range, publicIp, device: device.name, deviceMtu: device.mtu, knownMac: known };
  }

  async #apply(family: Family, { steps, refused }: OverlayPlan): Promise<void> {
    const { kernel, log } = this.#parts;
    for (const { name, why } of refused) this.#reportOnce(`a node is left out: ${why}`, name);
    if (steps.length > 0) {
      log.info('changing the network between nodes', { family, steps: steps.length, first: steps[0]?.kind });
      await kernel.apply(steps);
    }
    if (this.#options.backend !== 'vxlan') return;
    const device = vxlanDevice(family, this.#options.vni);
    if (steps.some(({ kind }) => kind === 'createVxlan')) this.#offloaded.delete(device);
    if (this.#offloaded.has(device)) return;
    this.#offloaded.add(device);
    // Some kernels send wrong checksums for packets that are translated twice. flannel turns the offload off too.
    await kernel
      .disableChecksumOffload(device)
      .catch((error: unknown) => this.#reportOnce(errorMessage(error), 'checksum offload'));
  }

  async #writeRules(family: Family, ownRange: string | undefined): Promise<void> {
    const { filters, clock } = this.#parts;
    const { networks, chainPrefix, serviceCidrs } = this.#options;
    const [filter, network, key] = [filters[family], networks[family], `rules of ${family}`];
    if (ownRange === undefined || network === undefined) return;
    const isKnown = this.#written.get(key) === ownRange;
    if (isKnown && clock.monotonicMs() - (this.#rulesCheckedMs.get(family) ?? -Infinity) < CHECK_MS / 2) return;
    const wanted = overlayRules(chainPrefix, { network, ownRange, serviceCidr: serviceCidrs[family] });
    const present = parsePresent(await filter.read(), chainPrefix);
    const isCurrent = isKnown && isWhole(wanted, present);
    const text = computeRestore(wanted, present, isCurrent ? wanted : undefined);
    if (text !== undefined) await filter.apply(text);
    this.#written.set(key, ownRange);
    this.#rulesCheckedMs.set(family, clock.monotonicMs());
  }

  /** Writes the files. The CNI configuration comes last, because with it the node is ready for pods. */
  #writeFiles(facts: Parameters<typeof renderSubnetFile>[0]): void {
    const { subnetFile, cni } = this.#options;
    const write = (path: string, text: string): void => {
      if (this.#parts.readFile(path) !== text) this.#parts.writeFile(path, text);
    };
    if (subnetFile !== undefined) write(subnetFile, renderSubnetFile(facts));
    if (cni !== undefined) write(cni.file, renderCniConfig(facts, cni));
  }

  /** Announces the node as flanneld does, through the subresource that its role may write. */
  async #announce(node: Node, wanted: Readonly<Record<string, string | null>>): Promise<void> {
    const { client, clock } = this.#parts;
    const present = new Map(Object.entries(node.metadata.annotations ?? {}));
    const annotations = Object.fromEntries(
      Object.entries(wanted).filter(([name, value]) => (present.get(name) ?? null) !== value),
    );
    const current = findCondition(node.status?.conditions, condition.type);
    const isMarked = current?.status === condition.status && current.reason === condition.reason;
    if (Object.keys(annotations).length === 0 && isMarked) return;
    const now = formatTime(clock.nowMs());
    const conditions = [{ ...condition, lastHeartbeatTime: now, lastTransitionTime: now }];
    await client.patch(
      nodes,
      { namespace: '', name: node.metadata.name },
      {
        type: 'strategic',
        body: { metadata: { uid: node.metadata.uid, annotations }, ...(isMarked ? {} : { status: { conditions } }) },
      },
      { subresource: 'status' },
    );
  }

  #reportOnce(text: string, about: string): void {
    const key = `${about}: ${text}`;
    if (this.#reported.has(key) || this.#reported.size > 1000) return;
    this.#reported.add(key);
    this.#parts.log.warn(text, { about });
  }
}

const hasAddress = (link: KernelLink, ip: string): boolean =>
  link.addresses.some((address) => address.slice(0, address.indexOf('/')) === ip);
