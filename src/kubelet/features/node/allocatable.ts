import {
  compareParsed,
  formatQuantity,
  parseQuantity,
  quantityOf,
  quantitySign,
  subtractQuantity,
  addQuantity,
  tryParseQuantity,
} from '../../../api/quantity.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { isHugePageResource } from '../../../api/resources.ts';
import { formatCpuSet } from '../../model/cpu-set.ts';

type Texts = Readonly<Record<string, string>>;

/** The machine's capacity, and how many pods its configuration allows. */
export interface CapacityFacts {
  readonly cores: number;
  readonly memoryBytes: number;
  /** The size of the root directory's file system; undefined while it could not be read. */
  readonly storageBytes: number | undefined;
  readonly hugePages: readonly { sizeBytes: number; totalBytes: number }[];
  readonly maxPods: number;
  /** The limit of pods per core; 0 for no limit. */
  readonly podsPerCore: number;
}

/** The configured reservations. */
export interface Reservations {
  readonly kube: Texts;
  readonly system: Texts;
  /** The hard eviction thresholds by signal: quantities or percentages. */
  readonly evictionHard: Texts;
}

/** Computes the capacity (upstream: cadvisor/util.go CapacityFromMachineInfo, nodestatus/setters.go MachineInfo). */
export function computeCapacity(facts: CapacityFacts): ResourceList {
  const { cores, memoryBytes, storageBytes, hugePages, maxPods, podsPerCore } = facts;
  const capacity: ResourceList = { cpu: String(cores), memory: quantityOf(memoryBytes, 'BinarySI') };
  if (storageBytes !== undefined) capacity['ephemeral-storage'] = quantityOf(storageBytes, 'BinarySI');
  for (const { sizeBytes, totalBytes } of hugePages)
    capacity[`hugepages-${quantityOf(sizeBytes, 'BinarySI')}`] = quantityOf(totalBytes, 'BinarySI');
  capacity['pods'] = String(podsPerCore > 0 ? Math.min(cores * podsPerCore, maxPods) : maxPods);
  return capacity;
}

/**
 * Computes the part of the hard eviction thresholds that pods can never use (upstream: cm/helpers.go
 * hardEvictionReservation).
 */
function evictionReservation(thresholds: Texts, capacity: ResourceList): ResourceList {
  const reserved: ResourceList = {};
  for (const [signal, resource] of [
    ['memory.available', 'memory'],
    ['nodefs.available', 'ephemeral-storage'],
  ] as const) {
    const threshold = thresholds[signal];
    const whole = capacity[resource];
    if (threshold === undefined || whole === undefined) continue;
    const amount = amountOf(threshold, whole);
    if (amount !== undefined) reserved[resource] = amount;
  }
  return reserved;
}

/**
 * Converts a threshold to an amount. Percentages are single-precision numbers, as upstream, so that nodes of the same
 * size have exactly the same allocatable bytes. 0 % and 100 % mean no threshold.
 */
function amountOf(threshold: string, whole: string): string | undefined {
  if (!threshold.endsWith('%')) return typeof tryParseQuantity(threshold) === 'string' ? undefined : threshold;
  if (threshold === '0%' || threshold === '100%') return undefined;
  const share = Math.fround(Math.fround(Number(threshold.slice(0, -1))) / 100);
  if (!Number.isFinite(share)) return undefined;
  return quantityOf(Math.trunc((Number(parseQuantity(whole).nanos) / 1e9) * share), 'BinarySI');
}

/** Computes the total reservation of each resource that the node has (upstream: GetNodeAllocatableReservation). */
export function computeReservation(capacity: ResourceList, reservations: Reservations): ResourceList {
  const parts = [reservations.system, reservations.kube, evictionReservation(reservations.evictionHard, capacity)];
  const total: ResourceList = {};
  for (const resource of Object.keys(capacity)) {
    const amount = parts.reduce(
      (sum, part) => addQuantity(sum, parseQuantity(part[resource] ?? '0')),
      parseQuantity('0'),
    );
    if (amount.nanos !== 0n) total[resource] = formatQuantity(amount);
  }
  return total;
}

/**
 * Returns why the reservations exceed the capacity. The agent does not start then (upstream: validateNodeAllocatable).
 */
export function reservationProblem(capacity: ResourceList, reservation: ResourceList): string | undefined {
  const wrong = Object.entries(reservation).filter(
    ([resource, kept]) => compareParsed(parseQuantity(kept), parseQuantity(capacity[resource] ?? '0')) > 0,
  );
  if (wrong.length === 0) return undefined;
  const sentences = wrong.map(
    ([resource, kept]) =>
      `Resource "${resource}" has a reservation of ${kept} but capacity of ${capacity[resource] ?? '0'}. Expected capacity >= reservation.`,
  );
  return `invalid Node Allocatable configuration. ${sentences.join(' ')}`;
}

/**
 * Computes what pods may request together. Huge pages are not available as ordinary memory (upstream:
 * nodestatus/setters.go).
 */
export function computeAllocatable(capacity: ResourceList, reservation: ResourceList): ResourceList {
  const allocatable = withoutEach(capacity, reservation);
  for (const [resource, whole] of Object.entries(capacity)) {
    if (isHugePageResource(resource)) allocatable['memory'] = without(allocatable['memory'] ?? '0', whole);
  }
  return allocatable;
}

/**
 * Computes the limits for the cgroup of all pods. Reservations are subtracted, but not eviction thresholds, because
 * those apply to usage (upstream: getNodeAllocatableAbsolute). Without `enforced` it is the whole capacity.
 */
export function computePodsLimits(
  capacity: ResourceList,
  reserved: Pick<Reservations, 'kube' | 'system'>,
  enforced: boolean,
): ResourceList {
  if (!enforced) return { ...capacity };
  return withoutEach(capacity, computeReservation(capacity, { ...reserved, evictionHard: {} }));
}

function withoutEach(capacity: ResourceList, reservation: ResourceList): ResourceList {
  return Object.fromEntries(
    Object.entries(capacity).map(([resource, whole]) => [resource, without(whole, reservation[resource] ?? '0')]),
  );
}

/** Returns the difference, at least 0. */
function without(whole: string, part: string): string {
  const left = formatQuantity(subtractQuantity(parseQuantity(whole), parseQuantity(part)));
  return quantitySign(left) < 0 ? '0' : left;
}

/**
 * Replaces the CPU reservations by amount with CPUs reserved by number (upstream: server.go). Returns a string with the
 * reason if these cannot be reserved.
 */
export function withReservedCpus(
  reserved: { kube: Texts; system: Texts; systemCpus: readonly number[] },
  onlineCpus: readonly number[],
): { kube: Texts; system: Texts } | string {
  const { kube, system, systemCpus } = reserved;
  if (systemCpus.length === 0) return { kube, system };
  if (systemCpus.some((cpu) => !onlineCpus.includes(cpu)))
    return `reserved-cpus: ${formatCpuSet(systemCpus)} is not a subset of online-cpus: ${formatCpuSet(onlineCpus)}`;
  const { cpu: _replaced, ...kubeRest } = kube;
  return { kube: kubeRest, system: { ...system, cpu: String(systemCpus.length) } };
}
