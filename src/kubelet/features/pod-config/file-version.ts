import type { Pod } from '../../../api/core/pod.ts';
import { podFullName } from '../../../api/pod.ts';
import type { KindedObject } from '../../../api/manifest/manifest-kinds.ts';
import { sameContent } from '../../../base/same-content.ts';
import type { ManifestContent, ManifestProblem } from './manifest-reader.ts';

/** The current content of a manifest. */
export interface FileVersion {
  readonly pods: readonly Pod[];
  readonly objects: readonly KindedObject[];
}

export const nothing: FileVersion = { pods: [], objects: [] };

/**
 * Returns the name of an object in messages: `ConfigMap default/c`, and `PersistentVolume p` for a cluster-scoped
 * object.
 */
function objectName({ kind, object: { metadata } }: KindedObject): string {
  return `${kind} ${metadata.namespace === '' ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/**
 * Computes the objects after `content` was read. A valid version replaces all of them. An invalid one removes and
 * changes nothing, because the last good version stays. It can only add objects that did not exist before.
 */
export function computeFileVersion(current: FileVersion, content: ManifestContent): FileVersion {
  if (content.errors.length === 0) return keepEqualPods(current, content);
  const pods = new Set(current.pods.map(podFullName));
  const objects = new Set(current.objects.map(objectName));
  const added = {
    pods: content.pods.filter((pod) => !pods.has(podFullName(pod))),
    objects: content.objects.filter((entry) => !objects.has(objectName(entry))),
  };
  if (added.pods.length + added.objects.length === 0) return current;
  return { pods: [...current.pods, ...added.pods], objects: [...current.objects, ...added.objects] };
}

/** Keeps the same object for an unchanged pod, so that later stages need not compare it. */
function keepEqualPods(current: FileVersion, content: ManifestContent): FileVersion {
  const known = new Map(current.pods.map((pod) => [pod.metadata.uid, pod]));
  const pods = content.pods.map((pod) => {
    const same = known.get(pod.metadata.uid);
    return same !== undefined && sameContent(same, pod) ? same : pod;
  });
  return { pods, objects: content.objects };
}

/**
 * Whether `next` lacks something that `current` has, as a manifest does that is truncated while it is being written.
 */
export function takesAway(current: FileVersion, next: FileVersion): boolean {
  const left = new Set([...next.pods.map(podFullName), ...next.objects.map(objectName)]);
  return (
    current.pods.some((pod) => !left.has(podFullName(pod))) ||
    current.objects.some((entry) => !left.has(objectName(entry)))
  );
}

export interface Combined extends FileVersion {
  /** The duplicates by file. */
  readonly duplicates: ReadonlyMap<string, readonly ManifestProblem[]>;
  /** The file of the active object, by kind and name. */
  readonly owners: ReadonlyMap<string, string>;
}

/**
 * Combines all manifests, in the given order. Of two objects with one name the active one stays (`before` has the
 * owners of the last combination), else the first is used. The other is reported as a problem of its file. So a new
 * file never ends a running pod.
 */
export function combineVersions(
  files: readonly (readonly [file: string, version: FileVersion])[],
  before: ReadonlyMap<string, string> = new Map(),
): Combined {
  const duplicates = new Map<string, ManifestProblem[]>();
  const owners = new Map<string, string>();
  const take = <T>(key: (item: T) => string, of: (version: FileVersion) => readonly T[]): T[] => {
    const all = files.flatMap(([file, version]) => of(version).map((item) => ({ file, item, name: key(item) })));
    for (const { file, name } of all) if (!owners.has(name) || before.get(name) === file) owners.set(name, file);
    const taken = new Set<string>();
    return all.flatMap(({ file, item, name }) => {
      const owner = owners.get(name);
      if (owner === file && !taken.has(name)) {
        taken.add(name);
        return [item];
      }
      const problem = {
        file,
        message: `duplicate: ${name} is already defined in ${owner}, which stays in force; this one is ignored`,
      };
      duplicates.set(file, [...(duplicates.get(file) ?? []), problem]);
      return [];
    });
  };
  return {
    pods: take(
      (pod) => `pod ${pod.metadata.namespace}/${pod.metadata.name}`,
      (version) => version.pods,
    ),
    objects: take(objectName, (version) => version.objects),
    duplicates,
    owners,
  };
}
