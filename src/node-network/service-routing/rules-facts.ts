import type { IpFamily } from './ip-family.ts';

export interface RulesFacts {
  /** The prefix of chains, at most 14 characters. All chains are called `PREFIX-...`. */
  readonly chainPrefix: string;
  /** The family; default IPv4. Each family has its own rules. */
  readonly family?: IpFamily | undefined;
  /** The addresses of pods. Traffic from elsewhere gets the node's address, so that answers return through the node. */
  readonly podCidr: string;
  /** The service range. Traffic to an unassigned address is rejected immediately. */
  readonly serviceCidr: string;
  /**
   * Whether bridged packets pass the filter. If not, replies between two pods of one bridge bypass it, so all traffic
   * is masqueraded.
   */
  readonly bridgeNetfilter: boolean;
  /** Ports of the node that pods may always reach, despite its firewall: the API server and DNS. */
  readonly admitted?: readonly AdmittedPort[];
  /** Other ports that the node serves on its own addresses. No service can use them. */
  readonly kept?: readonly AdmittedPort[];
  /** The addresses of the node, one per family, that services of the type LoadBalancer get. */
  readonly loadBalancerAddresses?: readonly string[];
  /**
   * Whether node ports answer on 127.0.0.1 too, only for IPv4, and only if the pods' bridge routes loopback addresses
   * (`route_localnet`). Packets from the bridge that this would admit are dropped (CVE-2020-8558).
   */
  readonly loopbackNodePorts?: boolean;
}

export interface AdmittedPort {
  readonly ip: string;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}
