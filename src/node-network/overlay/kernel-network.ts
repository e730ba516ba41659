/** What the kernel holds of links, addresses, routes, neighbours and forwarding entries, as `ip -j` and `bridge -j` show it. */
export interface KernelState {
  readonly links: readonly KernelLink[];
  readonly routes: readonly KernelRoute[];
  /** Permanent ones. */
  readonly neighbours: readonly KernelNeighbour[];
  readonly forwarding: readonly ForwardingEntry[];
}

export interface KernelLink {
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  readonly isUp: boolean;
  /** `IP/LENGTH`, without link-local ones. */
  readonly addresses: readonly string[];
  /** Of VXLAN devices. */
  readonly vxlan?: VxlanSettings;
}

export interface VxlanSettings {
  readonly vni: number;
  readonly port: number;
  readonly local: string;
  /** The device that carries the packets. */
  readonly via: string;
  readonly learning: boolean;
}

export interface KernelRoute {
  /** `IP/LENGTH`, also of a single address. */
  readonly range: string;
  readonly gateway: string | undefined;
  readonly device: string;
  /** Number or name, as `ip` prints it. */
  readonly protocol: string;
}

export interface KernelNeighbour {
  readonly ip: string;
  readonly mac: string;
  readonly device: string;
}

export interface ForwardingEntry {
  readonly mac: string;
  /** The address of the machine that has it. */
  readonly remote: string;
  readonly device: string;
}

interface StepArgs {
  readonly createVxlan: {
    readonly name: string;
    readonly mac: string;
    readonly mtu: number;
    readonly vxlan: VxlanSettings;
  };
  readonly deleteLink: { readonly name: string };
  readonly setLink: { readonly name: string; readonly mtu: number };
  readonly addAddress: { readonly device: string; readonly address: string };
  readonly deleteAddress: { readonly device: string; readonly address: string };
  readonly replaceForwarding: ForwardingEntry;
  readonly deleteForwarding: ForwardingEntry;
  readonly replaceNeighbour: KernelNeighbour;
  readonly deleteNeighbour: KernelNeighbour;
  readonly replaceRoute: {
    readonly range: string;
    readonly gateway: string;
    readonly device: string;
    readonly onlink: boolean;
  };
  readonly deleteRoute: KernelRoute;
}
export type NetworkStep = { [K in keyof StepArgs]: { readonly kind: K } & StepArgs[K] }[keyof StepArgs];

export interface KernelNetwork {
  read(): Promise<KernelState>;
  /** In order. One that fails does not keep the others from being done; then it throws `Internal` with their words. */
  apply(steps: readonly NetworkStep[]): Promise<void>;
  /** Packets leave the device with their checksums computed. */
  disableChecksumOffload(device: string): Promise<void>;
  /** Calls `onChange` with each line about a change, and after a gap in which changes may have been missed. */
  watch(onChange: (line: string) => void): { stop(): void };
}

/** Marks routes as ours, for a later run to remove those that are stale. Others' programs use other numbers. */
export const ROUTE_PROTOCOL = '84';
