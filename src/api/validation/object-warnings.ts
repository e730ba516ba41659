import type { PersistentVolume } from '../core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import type { Service } from '../core/service.ts';
import type { KindedObject } from '../manifest/manifest-kinds.ts';
import type { RuntimeClass } from '../node/runtime-class.ts';
import { collectWarnings, deprecatedNodeLabels, warnOfFractions, warnOfTerm } from './pod/pod-warnings.ts';
import type { ManifestWarning, Warn } from './pod/pod-warnings.ts';

const STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class';
const USE_STORAGE_CLASS_NAME = 'deprecated since v1.8; use "storageClassName" attribute instead';

/**
 * The warnings that `kubectl apply` would print for a valid object other than a pod (upstream:
 * pkg/api/persistentvolume, persistentvolumeclaim, service and node).
 */
export function objectWarnings({ kind, object }: KindedObject): ManifestWarning[] {
  const warnings: ManifestWarning[] = [];
  const warn = collectWarnings(warnings);
  if (kind === 'PersistentVolume') warnOfVolume(warn, object);
  else if (kind === 'PersistentVolumeClaim') warnOfClaim(warn, object);
  else if (kind === 'Service') warnOfService(warn, object);
  else if (kind === 'RuntimeClass') warnOfRuntimeClass(warn, object);
  return warnings;
}

function warnOfVolume(warn: Warn, { metadata, spec }: PersistentVolume): void {
  const { annotations = {} } = metadata;
  if (Object.hasOwn(annotations, STORAGE_CLASS)) warn(`metadata.annotations[${STORAGE_CLASS}]`, USE_STORAGE_CLASS_NAME);
  const options = 'volume.beta.kubernetes.io/mount-options';
  if (Object.hasOwn(annotations, options))
    warn(`metadata.annotations[${options}]`, 'deprecated since v1.31; use "mountOptions" attribute instead');
  if (spec.persistentVolumeReclaimPolicy === 'Recycle')
    warn(
      'spec.persistentVolumeReclaimPolicy',
      'The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    );
  for (const [index, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries())
    warnOfTerm(warn, `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`, { term, checkValues: false });
}

function warnOfClaim(warn: Warn, { metadata, spec }: PersistentVolumeClaim): void {
  if (Object.hasOwn(metadata.annotations ?? {}, STORAGE_CLASS))
    warn(`metadata.annotations[${STORAGE_CLASS}]`, USE_STORAGE_CLASS_NAME);
  warnOfFractions(warn, 'spec.resources.requests', spec.resources?.requests);
  warnOfFractions(warn, 'spec.resources.limits', spec.resources?.limits);
}

function warnOfService(warn: Warn, { spec }: Service): void {
  const {
    type,
    clusterIP,
    externalIPs = [],
    externalName,
    loadBalancerIP,
    sessionAffinity,
    trafficDistribution,
  } = spec ?? {};
  const alone: Warn = (field, message) => warn(field, message, 'alone');
  const isHeadless = clusterIP === 'None';
  if (isHeadless && loadBalancerIP)
    alone('spec.loadBalancerIP', 'spec.loadBalancerIP is ignored for headless services');
  if (isHeadless && externalIPs.length > 0)
    alone('spec.externalIPs', 'spec.externalIPs is ignored for headless services');
  if (isHeadless && sessionAffinity !== undefined && sessionAffinity !== 'None')
    alone('spec.sessionAffinity', 'spec.SessionAffinity is ignored for headless services');
  if (!isHeadless && type !== 'ExternalName' && externalIPs.length > 0)
    alone('spec.externalIPs', 'spec.externalIPs is deprecated and may no longer be implemented in some clusters');
  if (type === 'ExternalName' && externalIPs.length > 0)
    alone('spec.externalIPs', 'spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (type !== 'ExternalName' && externalName)
    alone('spec.externalName', 'spec.externalName is ignored when spec.type is not "ExternalName"');
  if (trafficDistribution === 'PreferClose')
    warn('spec.trafficDistribution', '"PreferClose" is deprecated; use "PreferSameZone"');
}

function warnOfRuntimeClass(warn: Warn, { scheduling }: RuntimeClass): void {
  for (const label of Object.keys(scheduling?.nodeSelector ?? {})) {
    const message = deprecatedNodeLabels.get(label);
    if (message !== undefined) warn('scheduling.nodeSelector', message);
  }
}
