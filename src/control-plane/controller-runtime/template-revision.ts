import { exactly } from '../../base/exact-json.ts';
import type { ControllerRevision } from '../../api/apps/controller-revision.ts';
import type { PodTemplateSpec } from '../../api/core/pod-template.ts';
import { goJson } from '../../api/go-json.ts';
import { SAFE_ALPHABET } from '../../api/generate-name.ts';
import { semanticEqual } from '../../api/semantic-equal.ts';

/** The label of pods and revisions with the hash of their template. */
export const REVISION_HASH_LABEL = 'controller-revision-hash';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** A name has at most 253 characters; the hash takes up to 30 of them (upstream: ControllerRevisionName). */
const LONGEST_PREFIX = 223;

type Json = Readonly<Record<string, unknown>>;

/**
 * The strategic merge patch that restores a template: the data of a ControllerRevision, with the fields and in the
 * order in which upstream's controllers write it (upstream: getPatch). Clients find the current revision by comparing
 * its bytes. Keys that look like numbers are the exception: JavaScript puts them first.
 */
export function templatePatch(template: PodTemplateSpec): object {
  return sorted({ spec: { template: { ...asGoWrites(template), $patch: 'replace' } } }) as object;
}

/** Whether the revision contains this template, also in the format of earlier versions. */
export function isRevisionOf(template: PodTemplateSpec, { data }: ControllerRevision): boolean {
  return semanticEqual(templatePatch(template), data);
}

/** The hash in a revision's name, FNV-1 of its data (upstream: HashControllerRevision). */
export function hashRevision(data: object, collisions: number): string {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(goJson(data) + String(collisions))) hash = (Math.imul(hash, FNV_PRIME) ^ byte) >>> 0;
  return [...String(hash)].map((digit) => SAFE_ALPHABET[digit.charCodeAt(0) % SAFE_ALPHABET.length]).join('');
}

export function revisionName(owner: string, hash: string): string {
  return `${owner.slice(0, LONGEST_PREFIX)}-${hash}`;
}

/** Go writes structs that are not pointers even if they are empty. */
function asGoWrites({ metadata, spec }: PodTemplateSpec): Json {
  const withResources = <T extends object>(items: readonly T[]): Json[] =>
    items.map((each) => ({ resources: {}, ...each }));
  return {
    metadata,
    spec: {
      ...spec,
      containers: withResources(spec.containers),
      ...(spec.initContainers !== undefined && { initContainers: withResources(spec.initContainers) }),
      ...(spec.volumes !== undefined && { volumes: spec.volumes.map(withClaimStructures) }),
    },
  };
}

function withClaimStructures(volume: NonNullable<PodTemplateSpec['spec']['volumes']>[number]): object {
  const claim = volume.ephemeral?.volumeClaimTemplate;
  if (claim === undefined) return volume;
  const volumeClaimTemplate = { metadata: {}, ...claim, spec: { resources: {}, ...claim.spec } };
  return { ...volume, ephemeral: { ...volume.ephemeral, volumeClaimTemplate } };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

type Numbered = Pick<ControllerRevision, 'revision'>;

/** Sorted by number, oldest first. The numbers are int64, which may exceed the range of JavaScript numbers. */
export function compareRevisions({ revision: left }: Numbered, { revision: right }: Numbered): number {
  return left < right ? -1 : Number(left > right);
}

/** The greatest number plus one; for the greatest int64, the number itself. */
export function nextRevision(revisions: readonly Numbered[]): number | bigint {
  const greatest = revisions.reduce((most, { revision }) => (revision > most ? BigInt(revision) : most), 0n);
  return exactly(greatest + 1n) ?? greatest;
}
