/** Labels that a kubelet may give its own node (upstream: kubelet/pkg/apis/well_known_labels.go). */
const own: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);

type Labels = Readonly<Record<string, string>>;

const prefixOf = (key: string): string => (key.includes('/') ? key.slice(0, key.indexOf('/')) : '');
const isWithin = (prefix: string, domain: string): boolean => prefix === domain || prefix.endsWith(`.${domain}`);

/**
 * Whether the label steers workloads, so that a node may not set it on itself: unknown labels of kubernetes.io and
 * k8s.io, and all below node-restriction.kubernetes.io.
 */
function isForbidden(key: string): boolean {
  const prefix = prefixOf(key);
  if (isWithin(prefix, 'node-restriction.kubernetes.io')) return true;
  if (!isWithin(prefix, 'kubernetes.io') && !isWithin(prefix, 'k8s.io')) return false;
  return !own.has(key) && !isWithin(prefix, 'kubelet.kubernetes.io') && !isWithin(prefix, 'node.kubernetes.io');
}

/** The label changes that a kubelet is not allowed to make, sorted. */
export function forbiddenLabelChanges(now: Labels, before: Labels): readonly string[] {
  const keys = new Set([...Object.keys(now), ...Object.keys(before)]);
  return [...keys].filter((key) => now[key] !== before[key] && isForbidden(key)).sort();
}
