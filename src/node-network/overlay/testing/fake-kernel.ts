import type { KernelLink, KernelNetwork, KernelState, NetworkStep } from '../kernel-network.ts';
import { ROUTE_PROTOCOL } from '../kernel-network.ts';

/** The parts of a kernel that the overlay uses. Throws for steps that a real kernel refuses. */
export class FakeKernel implements KernelNetwork {
  links: KernelLink[];
  routes: KernelState['routes'][number][] = [];
  neighbours: KernelState['neighbours'][number][] = [];
  forwarding: KernelState['forwarding'][number][] = [];
  readonly steps: NetworkStep[] = [];
  /** The gateway whose routes fail. */
  refused: string | undefined;
  readonly offloaded: string[] = [];
  #listener: (line: string) => void = () => undefined;

  constructor(links: KernelLink[]) {
    this.links = links;
  }

  read(): Promise<KernelState> {
    const { links, routes, neighbours, forwarding } = this;
    return Promise.resolve({
      links: [...links],
      routes: [...routes],
      neighbours: [...neighbours],
      forwarding: [...forwarding],
    });
  }

  /** Applies the steps. The others take effect even if one was refused. */
  apply(steps: readonly NetworkStep[]): Promise<void> {
    const failures: unknown[] = [];
    for (const step of steps)
      try {
        this.do(step);
      } catch (error) {
        failures.push(error);
      }
    return failures.length === 0 ? Promise.resolve() : Promise.reject(failures[0] as Error);
  }

  disableChecksumOffload(device: string): Promise<void> {
    this.offloaded.push(device);
    return Promise.resolve();
  }

  watch(onChange: (line: string) => void): { stop(): void } {
    this.#listener = onChange;
    return { stop: () => (this.#listener = () => undefined) };
  }

  /** Changes the kernel as another program does, and the kernel reports it. */
  disturb(change: (kernel: FakeKernel) => void, line: string): void {
    change(this);
    this.#listener(line);
  }

  do(step: NetworkStep): void {
    this.steps.push(step);
    switch (step.kind) {
      case 'createVxlan': {
        if (this.links.some(({ name }) => name === step.name)) throw new Error(`${step.name} exists`);
        if (step.name.length > 15) throw new Error(`${step.name} is longer than names of devices`);
        const { name, mac, mtu, vxlan } = step;
        this.links.push({ name, mac, mtu, vxlan, isUp: false, addresses: [] });
        return;
      }
      case 'deleteLink':
        this.removeLink(step.name);
        return;
      case 'setLink':
        this.#change(step.name, (link) => ({ ...link, mtu: step.mtu, isUp: true }));
        return;
      case 'addAddress':
        this.#change(step.device, (link) => ({ ...link, addresses: [...link.addresses, step.address] }));
        return;
      case 'deleteAddress':
        this.#change(step.device, (link) => ({
          ...link,
          addresses: link.addresses.filter((each) => each !== step.address),
        }));
        return;
      case 'replaceForwarding':
        this.forwarding = this.forwarding.filter(({ mac, device }) => mac !== step.mac || device !== step.device);
        this.forwarding.push({ mac: step.mac, remote: step.remote, device: step.device });
        return;
      case 'deleteForwarding':
        this.forwarding = this.forwarding.filter(
          ({ mac, remote, device }) => mac !== step.mac || remote !== step.remote || device !== step.device,
        );
        return;
      case 'replaceNeighbour':
        this.neighbours = this.neighbours.filter(({ ip, device }) => ip !== step.ip || device !== step.device);
        this.neighbours.push({ ip: step.ip, mac: step.mac, device: step.device });
        return;
      case 'deleteNeighbour':
        this.neighbours = this.neighbours.filter(({ ip, device }) => ip !== step.ip || device !== step.device);
        return;
      case 'replaceRoute': {
        if (!this.links.some(({ name, isUp }) => name === step.device && isUp))
          throw new Error(`${step.device} is down`);
        if (step.gateway === this.refused) throw new Error('Nexthop has invalid gateway');
        this.routes = this.routes.filter(({ range }) => range !== step.range);
        const { range, gateway, device } = step;
        this.routes.push({ range, gateway, device, protocol: ROUTE_PROTOCOL });
        return;
      }
      case 'deleteRoute':
        this.routes = this.routes.filter(({ range, device }) => range !== step.range || device !== step.device);
    }
  }

  /** Also removes its entries. */
  removeLink(name: string): void {
    this.links = this.links.filter((link) => link.name !== name);
    this.routes = this.routes.filter(({ device }) => device !== name);
    this.neighbours = this.neighbours.filter(({ device }) => device !== name);
    this.forwarding = this.forwarding.filter(({ device }) => device !== name);
  }

  #change(name: string, change: (link: KernelLink) => KernelLink): void {
    if (!this.links.some((link) => link.name === name)) throw new Error(`no device ${name}`);
    this.links = this.links.map((link) => (link.name === name ? change(link) : link));
  }
}

export const cable = (ip: string): KernelLink => ({
  name: 'eth0',
  mac: '02:00:00:00:00:aa',
  mtu: 1500,
  isUp: true,
  addresses: [`${ip}/24`],
});
