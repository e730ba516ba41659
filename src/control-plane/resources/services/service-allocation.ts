import { services } from '../../../api/client/resource-types.ts';
import type { Service, ServicePort, ServiceSpec } from '../../../api/core/service.ts';
import { ApiStatusError, internalError, invalid } from '../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { Allocated, Claims, HeldClaim } from '../../model/resource-definition.ts';
import { candidates, parseAddressRange, reservedAddresses, reservedPorts } from './address-range.ts';
import type { AddressRange } from './address-range.ts';
import { computeFamilies } from './service-families.ts';
import { isHeadless, needsAddress, needsHealthPort, needsPorts } from './service-rules.ts';

/*
 * Addresses and node ports of services. Each is claimed in the store under its own key before the service is written, so that two API servers cannot give
 * one to two services; what was claimed in vain is given back, and what a service has no longer after the write.
 */

const spaces = { address: 'serviceips', port: 'servicenodeports' } as const;
type Space = (typeof spaces)[keyof typeof spaces];

/** The names of a service in both spaces. */
interface Holdings {
  readonly serviceips: readonly string[];
  readonly servicenodeports: readonly string[];
}

function holdingsOf(service: Service | undefined): Holdings {
  const { clusterIPs = [], ports = [], healthCheckNodePort = 0 } = service?.spec ?? {};
  const numbers = [...ports.map(({ nodePort = 0 }) => nodePort), healthCheckNodePort].filter((port) => port !== 0);
  return {
    serviceips: clusterIPs.filter((ip) => ip !== 'None' && ip !== ''),
    servicenodeports: [...new Set(numbers)].map(String),
  };
}

/** Unique in time, too: what is left of a service that was deleted is not taken for that of its successor. */
const ownerOf = ({ metadata: { namespace, name, uid } }: Service): string => `${namespace}/${name}/${uid}`;

export async function allocateService(
  service: Service,
  old: Service | undefined,
  claims: Claims,
): Promise<Allocated<Service>> {
  const allocation = new Allocation(service, old, claims);
  try {
    const object = await allocation.complete();
    return { object, settle: (stored) => (stored ? allocation.releaseUnused(object) : allocation.releaseTaken()) };
  } catch (error) {
    await allocation.releaseTaken();
    throw error;
  }
}

/** All that a service has, as it is claimed. */
export function claimsOfService(service: Service): readonly HeldClaim[] {
  const holdings = holdingsOf(service);
  const owner = ownerOf(service);
  return Object.values(spaces).flatMap((space) => holdings[space].map((name) => ({ space, name, owner })));
}

export async function deallocateService(service: Service, claims: Claims): Promise<void> {
  for (const { space, name, owner } of claimsOfService(service)) await claims.release(space, name, owner);
}

class Allocation {
  readonly #service: Service;
  readonly #owner: string;
  readonly #before: Holdings;
  readonly #claims: Claims;
  readonly #taken: { space: Space; name: string }[] = [];

  constructor(service: Service, old: Service | undefined, claims: Claims) {
    this.#service = service;
    this.#owner = ownerOf(service);
    this.#before = holdingsOf(old);
    this.#claims = claims;
  }

  async complete(): Promise<Service> {
    const service = this.#service;
    const ranges = this.#claims.settings.serviceCidrs.map(parseAddressRange);
    const families = needsAddress(service)
      ? computeFamilies(
          service,
          ranges.map(({ family }) => family),
        )
      : {};
    const spec: ServiceSpec = { ...service.spec, ...families };
    if (needsAddress(service) && !isHeadless(service)) {
      spec.clusterIPs = await this.#addresses(spec, ranges);
      spec.clusterIP = spec.clusterIPs[0];
    }
    if (needsPorts(service)) spec.ports = await this.#ports(spec);
    if (needsHealthPort(service)) spec.healthCheckNodePort = await this.#healthPort(spec.healthCheckNodePort ?? 0);
    return { ...service, spec };
  }

  async releaseTaken(): Promise<void> {
    for (const { space, name } of this.#taken) await this.#claims.release(space, name, this.#owner);
  }

  async releaseUnused(stored: Service): Promise<void> {
    const now = holdingsOf(stored);
    for (const space of Object.values(spaces)) {
      for (const name of this.#before[space])
        if (!now[space].includes(name)) await this.#claims.release(space, name, this.#owner);
    }
  }

  async #addresses(
    { ipFamilies = [], clusterIPs = [] }: ServiceSpec,
    ranges: readonly AddressRange[],
  ): Promise<string[]> {
    const addresses: string[] = [];
    for (const [index, family] of ipFamilies.entries()) {
      const range = ranges.find((each) => each.family === family);
      const wanted = clusterIPs[index] ?? '';
      if (range === undefined)
        throw this.#refuse('spec.clusterIPs', clusterIPs, `${family} is not configured on this cluster`);
      if (wanted === '') addresses.push(await this.#anyAddress(range));
      else {
        const problem = range.contains(wanted)
          ? await this.#take(spaces.address, wanted)
          : `the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${range.cidr}`;
        if (problem !== undefined)
          throw this.#refuse(
            'spec.clusterIPs',
            clusterIPs,
            `failed to allocate IP ${wanted}: ${problem === 'used' ? 'provided IP is already allocated' : problem}`,
          );
        addresses.push(wanted);
      }
    }
    return addresses;
  }

  async #anyAddress(range: AddressRange): Promise<string> {
    const used = new Set(this.#claims.list(services, '').flatMap(({ spec }) => spec.clusterIPs ?? []));
    for (const index of candidates(range.size, reservedAddresses(range.size), () => this.#claims.random())) {
      const ip = range.at(index);
      if (!used.has(ip) && (await this.#take(spaces.address, ip)) === undefined) return ip;
    }
    throw internalError(
      new Error(
        `failed to allocate a serviceIP for Service ${JSON.stringify(this.#service.metadata.name)}: range is full`,
      ),
    );
  }

  /** Ports of one number but several protocols share their node port. */
  async #ports({ ports = [], type, allocateLoadBalancerNodePorts }: ServiceSpec): Promise<ServicePort[]> {
    const wantsPorts = type === 'NodePort' || allocateLoadBalancerNodePorts !== false;
    const byPort = new Map<number, number>();
    const complete: ServicePort[] = [];
    for (const [index, port] of ports.entries()) {
      let { nodePort = 0 } = port;
      if (nodePort === 0 && !wantsPorts) {
        complete.push(port);
        continue;
      }
      if (nodePort === 0)
        nodePort =
          byPort.get(port.port) ?? ports.find((other) => other.port === port.port && other.nodePort)?.nodePort ?? 0;
      if (nodePort === 0) nodePort = await this.#anyPort('nodePort');
      else await this.#takePort(nodePort, `spec.ports[${index}].nodePort`);
      if (!byPort.has(port.port)) byPort.set(port.port, nodePort);
      complete.push({ ...port, nodePort });
    }
    return complete;
  }

  async #takePort(port: number, field: string): Promise<void> {
    const { first, last } = this.#claims.settings.nodePorts;
    if (this.#before.servicenodeports.includes(String(port))) return;
    if (port < first || port > last)
      throw this.#refuse(
        field,
        port,
        `provided port is not in the valid range. The range of valid ports is ${first}-${last}`,
      );
    if ((await this.#take(spaces.port, String(port))) !== undefined)
      throw this.#refuse(field, port, 'provided port is already allocated');
  }

  async #anyPort(what: string): Promise<number> {
    const { first, last } = this.#claims.settings.nodePorts;
    // What it has or asks for is another port's.
    const own = [...this.#before.servicenodeports, ...holdingsOf(this.#service).servicenodeports];
    const used = new Set([
      ...own,
      ...this.#claims.list(services, '').flatMap((service) => holdingsOf(service).servicenodeports),
    ]);
    const size = last - first + 1;
    for (const index of candidates(size, reservedPorts(size), () => this.#claims.random())) {
      const port = first + index;
      const ours = this.#taken.some(({ space, name }) => space === spaces.port && name === String(port));
      if (!ours && !used.has(String(port)) && (await this.#take(spaces.port, String(port))) === undefined) return port;
    }
    throw internalError(new Error(`failed to allocate a ${what}: range is full`));
  }

  async #healthPort(wanted: number): Promise<number> {
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

  /** Undefined when it is this service's now. What it had before needs no taking. */
  async #take(space: Space, name: string): Promise<'used' | undefined> {
    if (this.#before[space].includes(name) || this.#taken.some((each) => each.space === space && each.name === name))
      return undefined;
    if ((await this.#claims.take(space, name, this.#owner)) === 'used') return 'used';
    this.#taken.push({ space, name });
    return undefined;
  }

  #refuse(field: string, value: unknown, why: string): ApiStatusError {
    const errors = new FieldErrors();
    errors.invalid(field, value, why);
    return invalid({ group: '', kind: 'Service' }, this.#service.metadata.name, errors.list);
  }
}
