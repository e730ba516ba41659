import type { ApiObject } from '../../api/client/resource-type.ts';
import type { LabelSelector } from '../../api/core/meta.ts';
import type { PodSpec } from '../../api/core/pod-spec.ts';
import type { TableColumn } from '../model/resource-definition.ts';

/** Common cells of `kubectl get`, in upstream's formats (pkg/printers/internalversion). */

/**
 * Formats a duration for users: the largest unit, and the next smaller one if the number is small (upstream:
 * duration.HumanDuration).
 */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`;
}

function withRest(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** Formats the time since an RFC 3339 time. */
export function formatAge(timestamp: string | undefined, nowMs: number): string {
  const atMs = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(atMs) ? '<unknown>' : humanDuration(nowMs - atMs);
}

/** The column of kinds that show their age before other columns. */
export const ageColumn: TableColumn<ApiObject> = {
  name: 'Age',
  type: 'string',
  description: 'Time since the object was created.',
  cell: ({ metadata }, nowMs) => formatAge(metadata.creationTimestamp, nowMs),
};

/** The name column of kinds whose first column is another one. Such a kind defines all columns. */
export const wideNameColumn: TableColumn<ApiObject> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object.',
  priority: 1,
  cell: ({ metadata }) => metadata.name,
};

export const joinNames = (template: { readonly spec: PodSpec }): string =>
  template.spec.containers.map(({ name }) => name).join(',');
export const joinImages = (template: { readonly spec: PodSpec }): string =>
  template.spec.containers.map(({ image }) => image ?? '').join(',');

/** Formats labels as `a=1,b=2`, sorted; `<none>` if there are none (upstream: labels.FormatLabels). */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}

/** Formats a selector: `app=web,tier in (a,b),!gone`. It is '' if it selects everything or nothing. */
export function selectorText(selector: LabelSelector | undefined): string {
  const clauses = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` }));
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? [])
    clauses.push({ key, text: clauseText(key, operator, [...values].sort().join(',')) });
  return clauses
    .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
    .map(({ text }) => text)
    .join(',');
}

function clauseText(key: string, operator: string, values: string): string {
  if (operator === 'In') return `${key} in (${values})`;
  if (operator === 'NotIn') return `${key} notin (${values})`;
  return operator === 'DoesNotExist' ? `!${key}` : key;
}

/** The same for cells, which are never empty. */
export function formatSelector(selector: LabelSelector | undefined): string {
  return selectorText(selector) || '<none>';
}

/** Formats the first three items and the number of others. */
export function listSome(items: readonly string[], empty: string): string {
  const shown = 3;
  if (items.length === 0) return empty;
  return items.length <= shown
    ? items.join(',')
    : `${items.slice(0, shown).join(',')} + ${items.length - shown} more...`;
}

/** Returns the number of entries of a map. */
export const countEntries = (map: Readonly<Record<string, string>> | undefined): number =>
  map === undefined ? 0 : Object.keys(map).length;

/** The length at which lists of addresses are cut in the narrow table. */
const SHOWN_CHARACTERS = 16;

/** Formats the addresses of a load balancer; empty if there are none. */
export function balancerAddresses(
  ingress: readonly { readonly ip?: string; readonly hostname?: string }[],
): readonly string[] {
  const text = [...new Set(ingress.map(({ ip, hostname }) => ip || (hostname ?? '')))]
    .filter((address) => address !== '')
    .sort()
    .join(',');
  return text === '' ? [] : [text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 3)}...` : text];
}
