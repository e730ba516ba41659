import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { allContainers } from '../../../api/pod.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { boundVolumeOf } from '../../../api/volume-binding.ts';
import type { ClusterKind, ClusterKinds } from '../../ports/cluster-objects.ts';

/** The objects that are known now. On a node without an API server these are all objects of its manifests. */
export interface SuggestionObjects {
  /** Whether it is not known yet if the object exists. The function is absent if everything is known. */
  isUnknown?(kind: ClusterKind, namespace: string, name: string): boolean;
  get<Kind extends ClusterKind>(kind: Kind, namespace: string, name: string): ClusterKinds[Kind] | undefined;
  list<Kind extends ClusterKind>(kind: Kind, namespace: string): readonly ClusterKinds[Kind][];
}

export interface SuggestionFacts {
  readonly objects: SuggestionObjects;
  /** Whether the node belongs to a cluster, where users create objects with kubectl and controllers bind claims. */
  readonly inCluster?: boolean;
  /** The folder of manifests, as users name it; '' if there is none. */
  readonly manifests: string;
  /** The folder where CSI drivers register. */
  readonly registry: string;
  readonly isDriverThere: (name: string) => boolean;
}

/** An object, or a key of it, that the pod requires. */
interface Need {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  readonly keys: readonly string[];
}

/** The maximum number of keys and volumes that a sentence lists. */
const MOST_NAMES = 8;

/**
 * Computes suggestions for a pod that waits. They are derived from the references of the pod and the existing objects,
 * not from error texts. The list is empty if all referenced objects exist.
 */
export function computeSuggestions(pod: Pod, facts: SuggestionFacts): string[] {
  const { namespace } = pod.metadata;
  const used = usedVolumes(pod);
  const suggestions = [
    ...needsOf(pod, used).flatMap((need) => suggestForNeed(need, namespace, facts)),
    ...used.flatMap((volume) => suggestForVolume(pod, volume, facts)),
  ];
  const { runtimeClassName } = pod.spec;
  if (
    runtimeClassName !== undefined &&
    isMissing(facts, { kind: 'RuntimeClass', namespace: '', name: runtimeClassName })
  )
    suggestions.push(addTo(facts, { kind: 'RuntimeClass', namespace: '', name: runtimeClassName }));
  return [...new Set(suggestions)];
}

/** Returns the volumes that containers use. Other volumes are not set up, so their missing objects delay nothing. */
function usedVolumes(pod: Pod): Volume[] {
  const names = new Set(
    [...allContainers(pod)].flatMap(({ container }) =>
      [...(container.volumeMounts ?? []), ...(container.volumeDevices ?? [])].map(({ name }) => name),
    ),
  );
  return (pod.spec.volumes ?? []).filter(({ name }) => names.has(name));
}

function needsOf(pod: Pod, volumes: readonly Volume[]): Need[] {
  const needs: Need[] = [];
  const add = (
    kind: Need['kind'],
    reference: { name?: string | undefined; optional?: boolean | undefined } | undefined,
    keys: readonly string[] = [],
  ): void => {
    if (reference?.name && reference.optional !== true) needs.push({ kind, name: reference.name, keys });
  };
  const keysOf = (items: readonly { key: string }[] | undefined): string[] => (items ?? []).map(({ key }) => key);
  // The pull continues without the secret, and then often fails.
  for (const reference of pod.spec.imagePullSecrets ?? []) add('Secret', reference);
  for (const { container } of allContainers(pod)) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      add('ConfigMap', configMapRef);
      add('Secret', secretRef);
    }
    for (const { valueFrom } of container.env ?? []) {
      add('ConfigMap', valueFrom?.configMapKeyRef, [valueFrom?.configMapKeyRef?.key ?? '']);
      add('Secret', valueFrom?.secretKeyRef, [valueFrom?.secretKeyRef?.key ?? '']);
    }
  }
  for (const { configMap, secret, projected } of volumes) {
    add('ConfigMap', configMap, keysOf(configMap?.items));
    add(
      'Secret',
      secret === undefined ? undefined : { name: secret.secretName, optional: secret.optional },
      keysOf(secret?.items),
    );
    for (const source of projected?.sources ?? []) {
      add('ConfigMap', source.configMap, keysOf(source.configMap?.items));
      add('Secret', source.secret, keysOf(source.secret?.items));
    }
  }
  return needs;
}

function suggestForNeed({ kind, name, keys }: Need, namespace: string, facts: SuggestionFacts): string[] {
  const found = facts.objects.get(kind, namespace, name);
  if (found === undefined) {
    if (facts.objects.isUnknown?.(kind, namespace, name) === true) return [];
    const elsewhere = facts.objects
      .list(kind, '')
      .filter(({ metadata }) => metadata.name === name)
      .map(({ metadata }) => metadata.namespace);
    return [
      elsewhere.length === 0
        ? addTo(facts, { kind, namespace, name, keys })
        : `${kind} ${namespace}/${name} does not exist, but one of that name is in namespace ${listed(elsewhere)}: a pod uses only those of its own namespace`,
    ];
  }
  const there = Object.keys({
    ...found.data,
    ...('binaryData' in found ? found.binaryData : 'stringData' in found ? found.stringData : {}),
  });
  return keys
    .filter((key) => !there.includes(key))
    .map(
      (key) =>
        `${kind} ${namespace}/${name} has no key ${key}; ${there.length === 0 ? 'it has none' : `it has ${listed(there)}`}`,
    );
}

function suggestForVolume(pod: Pod, volume: Volume, facts: SuggestionFacts): string[] {
  if (volume.csi !== undefined) return suggestForInlineVolume(volume.csi.driver, facts);
  const { namespace, name } = pod.metadata;
  const claimName = volume.ephemeral === undefined ? volume.persistentVolumeClaim?.claimName : `${name}-${volume.name}`;
  if (claimName === undefined) return [];
  const claim = facts.objects.get('PersistentVolumeClaim', namespace, claimName);
  const asked = { kind: 'PersistentVolumeClaim', namespace, name: claimName } as const;
  if (claim === undefined) return isMissing(facts, asked) ? [addTo(facts, asked)] : [];
  if (facts.inCluster === true) return suggestForBoundClaim(claim, facts);
  const volumes = facts.objects.list('PersistentVolume', '');
  const bound = boundVolumeOf(claim, volumes);
  if (bound !== undefined) return bound.spec.csi === undefined ? [] : suggestForDriver(bound.spec.csi.driver, facts);
  return [suggestForClaim(claim, volumes, facts)];
}

/** Suggests to read the events of a claim that controllers bind, because these show what prevents it. */
function suggestForBoundClaim(
  { metadata: { namespace, name }, spec, status }: PersistentVolumeClaim,
  facts: SuggestionFacts,
): string[] {
  const volume = spec.volumeName ?? '';
  if (volume === '' || status?.phase !== 'Bound')
    return [
      `PersistentVolumeClaim ${namespace}/${name} is not bound: kubectl describe pvc ${name} -n ${namespace} says why`,
    ];
  const driver = facts.objects.get('PersistentVolume', '', volume)?.spec.csi?.driver;
  return driver === undefined ? [] : suggestForDriver(driver, facts);
}

function suggestForInlineVolume(driver: string, facts: SuggestionFacts): string[] {
  const asked = { kind: 'CSIDriver', namespace: '', name: driver } as const;
  const object = isMissing(facts, asked) ? [`${addTo(facts, asked)}, with volumeLifecycleModes: [Ephemeral]`] : [];
  return [...suggestForDriver(driver, facts), ...object];
}

function suggestForDriver(driver: string, { registry, isDriverThere }: SuggestionFacts): string[] {
  return isDriverThere(driver)
    ? []
    : [`CSI driver ${driver} is not running on this node, or has not registered by a socket in ${registry}`];
}

/** Suggests volumes for a claim that the manifests must bind, because there are no controllers. */
function suggestForClaim(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  facts: SuggestionFacts,
): string {
  const { namespace, name } = claim.metadata;
  const said = `PersistentVolumeClaim ${namespace}/${name}`;
  const wanted = claim.spec.volumeName ?? '';
  if (wanted !== '') {
    const owner = volumes.find(({ metadata }) => metadata.name === wanted)?.spec.claimRef;
    if (owner === undefined)
      return `PersistentVolume ${wanted}, which ${said} names in its spec.volumeName, does not exist: put it ${whereOf(facts)}`;
    return `${said} names PersistentVolume ${wanted}, whose claimRef says that it belongs to ${owner.namespace ?? ''}/${owner.name ?? ''}: change one of them`;
  }
  const sizeOf = ({ spec }: PersistentVolume): string => spec.capacity?.['storage'] ?? '0';
  const smallestFirst = volumes
    .filter((volume) => fits(claim, volume))
    .sort((left, right) => compareQuantities(sizeOf(left), sizeOf(right)));
  const fitting = smallestFirst.map(({ metadata, spec }) => `${metadata.name} (${spec.capacity?.['storage'] ?? '?'})`);
  const start = `${said} names no volume in its spec.volumeName, and there is no controller that binds it`;
  return fitting.length === 0
    ? `${start}; no free PersistentVolume fits it: put one ${whereOf(facts)}`
    : `${start}: name one that fits, ${listed(fitting)}`;
}

/**
 * Whether the volume fits the claim by the checks of a binder: size, access modes, class, mode, and that it is free.
 */
function fits({ spec }: PersistentVolumeClaim, { spec: offer }: PersistentVolume): boolean {
  const { accessModes = [], storageClassName = '', volumeMode = 'Filesystem' } = spec;
  const size = spec.resources?.requests?.['storage'] ?? '0';
  return (
    offer.claimRef === undefined &&
    compareQuantities(offer.capacity?.['storage'] ?? '0', size) >= 0 &&
    accessModes.every((mode) => offer.accessModes?.includes(mode) === true) &&
    (offer.storageClassName ?? '') === storageClassName &&
    (offer.volumeMode ?? 'Filesystem') === volumeMode
  );
}

interface Asked {
  readonly kind: ClusterKind;
  readonly namespace: string;
  readonly name: string;
  readonly keys?: readonly string[];
}

function isMissing({ objects }: SuggestionFacts, { kind, namespace, name }: Asked): boolean {
  return objects.get(kind, namespace, name) === undefined && objects.isUnknown?.(kind, namespace, name) !== true;
}

function addTo(facts: SuggestionFacts, asked: Asked): string {
  const { kind, namespace, name } = asked;
  const said = `${kind} ${namespace === '' ? name : `${namespace}/${name}`} does not exist`;
  return facts.inCluster === true ? `${said}: ${commandFor(asked)}` : `${said}: put it ${whereOf(facts)}`;
}

/** The ConfigMap that the control plane creates in every namespace. */
const ROOT_CA = 'kube-root-ca.crt';

function commandFor({ kind, namespace, name, keys = [] }: Asked): string {
  if (kind === 'ConfigMap' && name === ROOT_CA)
    return 'the control plane creates it in each namespace; check that its controllers run';
  if (kind !== 'ConfigMap' && kind !== 'Secret')
    return `kubectl apply${namespace === '' ? '' : ` -n ${namespace}`} -f with a ${kind} of that name`;
  const content = keys
    .filter((key) => key !== '')
    .map((key) => ` --from-literal=${key}=VALUE`)
    .join('');
  return `kubectl create ${kind === 'Secret' ? 'secret generic' : 'configmap'} ${name} -n ${namespace}${content === '' ? ' --from-literal=KEY=VALUE' : content}`;
}

function whereOf({ manifests }: SuggestionFacts): string {
  return manifests === '' ? 'beside the pod' : `into ${manifests}`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(', ');
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
}
