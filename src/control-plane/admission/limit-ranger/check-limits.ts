import { ownValue } from '../../../base/lookup.ts';
import type { LimitRange, LimitRangeItem } from '../../../api/core/limit-range.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { canonicalQuantity, parseQuantity } from '../../../api/quantity.ts';
import { podLimits, podRequests } from '../../../api/resources.ts';

interface Asked {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

/** The violations of the limits by a pod, with upstream's messages and order. */
export function podLimitProblems(pod: Pod, { spec }: LimitRange): readonly string[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return spec.limits.flatMap((item) => {
    if (item.type === 'Container')
      return containers.flatMap(({ resources }) =>
        problemsOf(item, { requests: resources?.requests ?? {}, limits: resources?.limits ?? {} }),
      );
    if (item.type !== 'Pod') return [];
    const options = { excludeOverhead: true };
    return problemsOf(item, { requests: podRequests(pod, options), limits: podLimits(pod, options) });
  });
}

/** For claims only the requests count. */
export function claimLimitProblems(claim: PersistentVolumeClaim, { spec }: LimitRange): readonly string[] {
  const requests = claim.spec.resources?.requests ?? {};
  return spec.limits
    .filter(({ type }) => type === 'PersistentVolumeClaim')
    .flatMap((item) => [
      ...each(item.min, (name, least) => belowLeast(item.type, name, least, { requests, limits: {} })),
      ...each(item.max, (name, most) => claimAboveMost(item.type, name, most, requests)),
    ]);
}

function problemsOf(item: LimitRangeItem, asked: Asked): readonly string[] {
  return [
    ...each(item.min, (name, least) => belowLeast(item.type, name, least, asked)),
    ...each(item.max, (name, most) => aboveMost(item.type, name, most, asked)),
    ...each(item.maxLimitRequestRatio, (name, ratio) => aboveRatio(item.type, name, ratio, asked)),
  ];
}

function each(
  bounds: ResourceList | undefined,
  check: (name: string, bound: string) => string | undefined,
): readonly string[] {
  const names = Object.keys(bounds ?? {}).sort();
  return names.map((name) => check(name, bounds?.[name] ?? '0')).filter((problem) => problem !== undefined);
}

const amount = (text: string | undefined): bigint => (text === undefined ? 0n : parseQuantity(text).nanos);

function belowLeast(type: string, name: string, least: string, { requests, limits }: Asked): string | undefined {
  const [request, limit] = [ownValue(requests, name), ownValue(limits, name)];
  const rule = `minimum ${name} usage per ${type} is ${canonicalQuantity(least)}`;
  if (request === undefined) return `${rule}.  No request is specified`;
  if (amount(request) < amount(least)) return `${rule}, but request is ${canonicalQuantity(request)}`;
  return limit !== undefined && amount(limit) < amount(least)
    ? `${rule}, but limit is ${canonicalQuantity(limit)}`
    : undefined;
}

function aboveMost(type: string, name: string, most: string, { requests, limits }: Asked): string | undefined {
  const [request, limit] = [ownValue(requests, name), ownValue(limits, name)];
  const rule = `maximum ${name} usage per ${type} is ${canonicalQuantity(most)}`;
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (amount(limit) > amount(most)) return `${rule}, but limit is ${canonicalQuantity(limit)}`;
  return request !== undefined && amount(request) > amount(most)
    ? `${rule}, but request is ${canonicalQuantity(request)}`
    : undefined;
}

function claimAboveMost(type: string, name: string, most: string, requests: ResourceList): string | undefined {
  const request = ownValue(requests, name);
  const rule = `maximum ${name} usage per ${type} is ${canonicalQuantity(most)}`;
  if (request === undefined) return `${rule}.  No request is specified`;
  return amount(request) > amount(most) ? `${rule}, but request is ${canonicalQuantity(request)}` : undefined;
}

function aboveRatio(type: string, name: string, ratio: string, { requests, limits }: Asked): string | undefined {
  const [request, limit] = [amount(ownValue(requests, name)), amount(ownValue(limits, name))];
  const rule = `${name} max limit to request ratio per ${type} is ${canonicalQuantity(ratio)}`;
  if (request === 0n) return `${rule}, but no request is specified or request is 0`;
  if (limit === 0n) return `${rule}, but no limit is specified or limit is 0`;
  const found = Number(limit) / Number(request);
  return found * 1e9 > Number(amount(ratio)) ? `${rule}, but provided ratio is ${found.toFixed(6)}` : undefined;
}
