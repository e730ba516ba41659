import type { EnvVar } from '../../../../api/core/container.ts';
import type { AnyContainer } from '../../../../api/pod.ts';

const reference = /\$\$|\$\(([^)]*)(\)|$)/g;

/**
 * Whether the expansion of `text` may contain a value of a Secret, so that it must not be shown. If a variable is set
 * more than once, each setting counts. A variable that is not set here may come from an `envFrom`. Each variable is
 * checked once, however many others refer to it.
 */
export function mayHoldSecret({ env = [], envFrom = [] }: AnyContainer, text: string): boolean {
  const settings = new Map<string, EnvVar[]>();
  for (const variable of env) {
    const known = settings.get(variable.name);
    if (known === undefined) settings.set(variable.name, [variable]);
    else known.push(variable);
  }
  const fromSecret = envFrom.some(({ secretRef }) => secretRef !== undefined);
  const asked = new Set<string>();
  const waiting = [text];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [, name, end] of next.matchAll(reference)) {
      if (name === undefined || end !== ')' || asked.has(name)) continue;
      asked.add(name);
      const found = settings.get(name) ?? [];
      if (found.length === 0 ? fromSecret : found.some(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined))
        return true;
      waiting.push(...found.map(({ value = '' }) => value));
    }
  }
  return false;
}
