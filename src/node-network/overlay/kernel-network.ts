/** The kernel's links, addresses, routes, neighbours and forwarding entries, as `ip -j` and `bridge -j` show them. */
export interface KernelState {
  readonly links: readonly KernelLink[];
  readonly routes: readonly KernelRoute[];
  /** The permanent neighbours. */
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
  /** The settings of a VXLAN device. */
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
  /** `IP/LENGTH`, even for a single address. */
  readonly range: string;
  readonly gateway: string | undefined;
  readonly device: string;
  /** The protocol as a number or name, as `ip` prints it. */
  readonly protocol: string;
}

export interface KernelNeighbour {
  readonly ip: string;
  readonly mac: string;
  readonly device: string;
}

export interface ForwardingEntry {
  readonly mac: string;
  /** The address of the machine with this MAC address. */
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
  /**
   * Applies the steps in order. A failed step does not stop the others. At the end it throws `Internal` with the
   * messages.
   */
  apply(steps: readonly NetworkStep[]): Promise<void>;
  /** Makes packets leave the device with computed checksums. */
  disableChecksumOffload(device: string): Promise<void>;
  /** Calls `onChange` with each line about a change, and after a gap in which changes may have been missed. */
  watch(onChange: (line: string) => void): { stop(): void };
}

/** The protocol number of our routes, by which a later run finds outdated ones. Other programs use other numbers. */
export const ROUTE_PROTOCOL = '84';
