import type { AnyContainer } from '../../../../api/pod.ts';

const REFERENCE = /\$\$|\$\(([^)]*)\)/g;

/**
 * Whether what `text` expands to may hold something of a Secret: it must not be told then. A variable may be set more than once; any of its
 * settings counts, and one that is set nowhere here may come out of an `envFrom`.
 */
export function mayHoldSecret(container: AnyContainer, text: string, asked: ReadonlySet<string> = new Set()): boolean {
  const { env = [], envFrom = [] } = container;
  return [...text.matchAll(REFERENCE)].some(([, name]) => {
    if (name === undefined || asked.has(name)) return false;
    const settings = env.filter((variable) => variable.name === name);
    if (settings.length === 0) return envFrom.some(({ secretRef }) => secretRef !== undefined);
    return settings.some(
      ({ value = '', valueFrom }) =>
        valueFrom?.secretKeyRef !== undefined || mayHoldSecret(container, value, new Set([...asked, name])),
    );
  });
}
