/** Zones of in-tree PersistentVolumes, by the labels that CSI drivers give nodes (upstream: in_tree_volume.go). Pure. */
import type { NodeSelectorTerm } from './core/scheduling.ts';
import type { PersistentVolume } from './core/persistent-volume.ts';
import type { PersistentVolumeAccessMode } from './core/volume-source.ts';

const stable = { zone: 'topology.kubernetes.io/zone', region: 'topology.kubernetes.io/region' };
const beta = { zone: 'failure-domain.beta.kubernetes.io/zone', region: 'failure-domain.beta.kubernetes.io/region' };
const ZONES_APART = '__';

const termsOf = ({ spec }: PersistentVolume): readonly NodeSelectorTerm[] =>
  spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
const names = (terms: readonly NodeSelectorTerm[], key: string): boolean =>
  terms.some(({ matchExpressions }) => matchExpressions?.some((each) => each.key === key) === true);

/** The generation of topology labels that the volume uses. Its node affinity takes precedence over its own labels. */
function labelsOf(pv: PersistentVolume): typeof stable {
  const terms = termsOf(pv);
  if (names(terms, stable.zone)) return stable;
  if (names(terms, beta.zone)) return beta;
  const own = pv.metadata.labels ?? {};
  return Object.hasOwn(own, stable.zone) || !Object.hasOwn(own, beta.zone) ? stable : beta;
}

/**
 * The node requirements of the volume with the driver's labels: those in the node affinity are renamed, others are
 * added from the volume's own labels.
 */
export function withZoneTopology(
  pv: PersistentVolume,
  keys: { readonly zone: string; readonly region?: string | undefined },
): PersistentVolume {
  const labels = labelsOf(pv);
  const renamed = new Map([
    [labels.zone, keys.zone],
    ...(keys.region === undefined ? [] : [[labels.region, keys.region] as const]),
    [beta.region, keys.region ?? stable.region],
  ]);
  const before = termsOf(pv);
  const terms = before.map((term) => ({
    ...term,
    ...(term.matchExpressions !== undefined && {
      matchExpressions: term.matchExpressions.map((each) => ({ ...each, key: renamed.get(each.key) ?? each.key })),
    }),
  }));
  const own = pv.metadata.labels?.[labels.zone];
  const added = names(before, labels.zone) ? [] : zonesIn(own ?? '');
  if (terms.length === 0 && added.length === 0) return pv;
  const nodeSelectorTerms = added.length === 0 ? terms : withZones(terms.length === 0 ? [{}] : terms, keys.zone, added);
  return { ...pv, spec: { ...pv.spec, nodeAffinity: { required: { nodeSelectorTerms } } } };
}

const zonesIn = (label: string): string[] =>
  [...new Set(label.split(ZONES_APART).map((zone) => zone.trim()))].filter((zone) => zone !== '').sort();

const withZones = (terms: readonly NodeSelectorTerm[], key: string, values: string[]): NodeSelectorTerm[] =>
  terms.map((term) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), { key, operator: 'In' as const, values }],
  }));

/** The in-tree plugin's ReadWriteOnce is the driver's only access mode (upstream: gce_pd.go). */
export function backwardCompatibleModes(
  modes: readonly PersistentVolumeAccessMode[] | undefined,
): PersistentVolumeAccessMode[] | undefined {
  if (modes === undefined) return undefined;
  const isReadOnly = modes.length > 0 && modes.every((mode) => mode === 'ReadOnlyMany');
  return [isReadOnly ? 'ReadOnlyMany' : 'ReadWriteOnce'];
}
