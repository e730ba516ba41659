import type { IpFamily } from './ip-family.ts';

export interface RulesFacts {
  /** At most 14 characters; all chains are called `PREFIX-...`. */
  readonly chainPrefix: string;
  /** IPv4 unless given. Each family has rules of its own. */
  readonly family?: IpFamily | undefined;
  /** Addresses of pods: traffic from elsewhere gets the node's address, so that answers come back this way. */
  readonly podCidr: string;
  /** The service range: traffic to an unassigned address is rejected at once. */
  readonly serviceCidr: string;
  /**
   * Bridged packets pass the filter, too. If false, replies between two pods of one bridge bypass it, so all traffic is
   * masqueraded.
   */
  readonly bridgeNetfilter: boolean;
  /** Ports of the node that pods may always reach, despite its firewall: the API server and DNS. */
  readonly admitted?: readonly AdmittedPort[];
  /** Other ports that the node serves on its own addresses: no service can take them. */
  readonly kept?: readonly AdmittedPort[];
  /** The addresses of the node, one per family, that services of the type LoadBalancer get. */
  readonly loadBalancerAddresses?: readonly string[];
  /**
   * Of IPv4: node ports answer on 127.0.0.1, too. Only where the pods' bridge routes loopback addresses
   * (`route_localnet`). Packets that this would admit from the bridge are dropped (CVE-2020-8558).
   */
  readonly loopbackNodePorts?: boolean;
}

export interface AdmittedPort {
  readonly ip: string;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}
