/** Chooses the pods' subnet so that it does not hide a network that the machine already reaches. Pure. */
import { KubeletError } from '../base/errors.ts';

/**
 * 256 candidates of 1022 addresses: 10.84.0.0/22 up to 10.87.252.0/22. Upstream engines' defaults (10.88, 10.244,
 * 172.17) lie outside.
 */
const FIRST = ipToNumber('10.84.0.0');
const PREFIX = 22;
const SIZE = 2 ** (32 - PREFIX);
const COUNT = 256;

export interface Subnet {
  /** In CIDR form. */
  readonly cidr: string;
  readonly gateway: string;
  readonly prefixLength: number;
}

/** A line of `ip -j route`, or an address: one destination, including `default`. */
export interface Route {
  readonly dst: string;
  readonly dev?: string;
}

/**
 * The first free candidate, starting at a position that depends on `seed` (an instance id in hex), so that instances
 * rarely choose the same. Routes on `ownBridge` are not conflicts. Throws `Conflict` when all are taken.
 */
export function chooseSubnet(seed: string, routes: readonly Route[], ownBridge: string): Subnet {
  const taken = routes.filter((route) => route.dev !== ownBridge).flatMap(toRange);
  const start = Number.parseInt(seed.slice(0, 6), 16) % COUNT;
  for (let step = 0; step < COUNT; step += 1) {
    const base = FIRST + ((start + step) % COUNT) * SIZE;
    if (!taken.some((range) => range.first < base + SIZE && base <= range.last)) {
      return { cidr: `${numberToIp(base)}/${PREFIX}`, gateway: numberToIp(base + 1), prefixLength: PREFIX };
    }
  }
  throw new KubeletError(
    'Conflict',
    'every subnet from 10.84.0.0/22 to 10.87.252.0/22 overlaps a route of this machine',
  );
}

/** Sixteen candidates of 65534 addresses, together kubeadm's 10.96.0.0/12. */
const SERVICE_RANGES = Array.from({ length: 16 }, (_, index) => `10.${96 + index}.0.0/16`);

/**
 * The first range for services that no route leads to. A cluster adds a route for its own range, so that the next one
 * sees it. Throws `Conflict` when all are taken.
 */
export function chooseServiceRange(routes: readonly Route[], ownBridge: string): string {
  const found = SERVICE_RANGES.find((cidr) => isRangeFree(cidr, routes, ownBridge));
  if (found === undefined)
    throw new KubeletError(
      'Conflict',
      'every range from 10.96.0.0/16 to 10.111.0.0/16 overlaps a route of this machine',
    );
  return found;
}

/** The ranges for the pods of several nodes: sixteen candidates after those of services. */
const POD_RANGES = Array.from({ length: 16 }, (_, index) => `10.${112 + index}.0.0/16`);

/** The first range for pods without a route, or `wanted` if it is still free. Throws `Conflict` when all are taken. */
export function choosePodRange(wanted: string | undefined, routes: readonly Route[], ownBridge: string): string {
  const found = [...(wanted === undefined ? [] : [wanted]), ...POD_RANGES].find((cidr) =>
    isRangeFree(cidr, routes, ownBridge),
  );
  if (found === undefined || (wanted !== undefined && found !== wanted))
    throw new KubeletError(
      'Conflict',
      `the range for pods ${wanted ?? 'from 10.112.0.0/16 to 10.127.0.0/16'} overlaps a route of this machine`,
    );
  return found;
}

/** Whether a previously chosen subnet may be used again. */
export function isSubnetFree(subnet: Subnet, routes: readonly Route[], ownBridge: string): boolean {
  return isRangeFree(subnet.cidr, routes, ownBridge);
}

function isRangeFree(cidr: string, routes: readonly Route[], ownBridge: string): boolean {
  const [own] = toRange({ dst: cidr });
  if (own === undefined) return false;
  return !routes
    .filter((route) => route.dev !== ownBridge)
    .flatMap(toRange)
    .some((range) => range.first <= own.last && own.first <= range.last);
}

function toRange(route: Route): { first: number; last: number }[] {
  const match = /^(\d+\.\d+\.\d+\.\d+)(?:\/(\d+))?$/.exec(route.dst);
  if (match === null) return []; // default route, IPv6
  const size = 2 ** (32 - Number(match[2] ?? 32));
  const address = ipToNumber(match[1] ?? '');
  const first = address - (address % size);
  return size >= 2 ** 32 ? [] : [{ first, last: first + size - 1 }];
}

function ipToNumber(ip: string): number {
  return ip.split('.').reduce((total, part) => total * 256 + Number(part), 0);
}

function numberToIp(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}
