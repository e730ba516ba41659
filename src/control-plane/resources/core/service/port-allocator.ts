import { services } from '../../../../api/client/resource-types.ts';
import type { Service, ServicePort, ServiceSpec } from '../../../../api/core/service.ts';
import { ApiStatusError, internalError } from '../../../../api/status/api-status-error.ts';
import type { AllocationStore } from '../../../model/resource-definition.ts';
import { candidates, reservedPorts } from './address-range.ts';
import { holdingsOf, spaces } from './reservation.ts';
import type { Reservation } from './reservation.ts';

/** Allocates the node ports of one service: those that it requests, else free ones. */
export class PortAllocator {
  readonly #service: Service;
  readonly #store: AllocationStore;
  readonly #reservation: Reservation;
  #used: ReadonlySet<string> | undefined;

  constructor(service: Service, store: AllocationStore, reservation: Reservation) {
    this.#service = service;
    this.#store = store;
    this.#reservation = reservation;
  }

  /** Allocates node ports. Ports with the same number and different protocols share one. */
  async allocate({ ports = [], type, allocateLoadBalancerNodePorts }: ServiceSpec): Promise<ServicePort[]> {
    const wantsPorts = type === 'NodePort' || allocateLoadBalancerNodePorts !== false;
    const asked = new Map(
      ports
        .filter(({ nodePort = 0 }) => nodePort !== 0)
        .toReversed()
        .map(({ port, nodePort }) => [port, nodePort]),
    );
    const byPort = new Map<number, number>();
    const complete: ServicePort[] = [];
    for (const [index, port] of ports.entries()) {
      let { nodePort = 0 } = port;
      if (nodePort === 0 && !wantsPorts) {
        complete.push(port);
        continue;
      }
      if (nodePort === 0) nodePort = byPort.get(port.port) ?? asked.get(port.port) ?? 0;
      if (nodePort === 0) nodePort = await this.#anyPort('nodePort');
      else await this.#takePort(nodePort, `spec.ports[${index}].nodePort`);
      if (!byPort.has(port.port)) byPort.set(port.port, nodePort);
      complete.push({ ...port, nodePort });
    }
    return complete;
  }

  async #takePort(port: number, field: string): Promise<void> {
    const { first, last } = this.#store.settings.nodePorts;
    if (this.#reservation.before.servicenodeports.has(String(port))) return;
    if (port < first || port > last)
      throw this.#reservation.refuse(
        field,
        port,
        `provided port is not in the valid range. The range of valid ports is ${first}-${last}`,
      );
    if ((await this.#reservation.take(spaces.port, String(port))) !== undefined)
      throw this.#reservation.refuse(field, port, 'provided port is already allocated');
  }

  async #anyPort(what: string): Promise<number> {
    const { first, last } = this.#store.settings.nodePorts;
    const used = (this.#used ??= this.#usedPorts());
    const size = last - first + 1;
    for (const index of candidates(size, reservedPorts(size), () => this.#store.random())) {
      const port = first + index;
      const ours = this.#reservation.taken[spaces.port].has(String(port));
      if (!ours && !used.has(String(port)) && (await this.#reservation.take(spaces.port, String(port))) === undefined)
        return port;
    }
    throw internalError(new Error(`failed to allocate a ${what}: range is full`));
  }

  /**
   * Returns the used ports from the cache, with those of this service. The store refuses a port that another write
   * allocates meanwhile.
   */
  #usedPorts(): ReadonlySet<string> {
    const own = [...this.#reservation.before.servicenodeports, ...holdingsOf(this.#service).servicenodeports];
    return new Set([
      ...own,
      ...this.#store.list(services, '').flatMap((service) => [...holdingsOf(service).servicenodeports]),
    ]);
  }

  async allocateHealthPort(wanted: number): Promise<number> {
    if (wanted === 0) return this.#anyPort('HealthCheck NodePort');
    try {
      await this.#takePort(wanted, 'spec.healthCheckNodePort');
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      throw internalError(
        new Error(
          `failed to allocate requested HealthCheck NodePort ${wanted}: ${error.details?.causes?.[0]?.message?.split(': ').at(-1) ?? error.message}`,
        ),
      );
    }
    return wanted;
  }
}
