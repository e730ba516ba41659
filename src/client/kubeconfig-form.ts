import { parse } from 'yaml';
import { KubeletError } from '../base/errors.ts';

export type Section = Readonly<Record<string, unknown>>;

/** The cluster and the user of the current context as they are written, for those who write a kubeconfig from another or ask whether a credential stands in the file itself. */
export function kubeconfigForm(text: string): { readonly cluster: Section; readonly user: Section } {
  const config: unknown = parse(text);
  if (!isSection(config)) throw new KubeletError('Invalid', 'the kubeconfig is empty');
  const context = find(config, 'contexts', String(config['current-context'] ?? ''), 'context');
  return { cluster: find(config, 'clusters', String(context['cluster'] ?? ''), 'cluster'), user: find(config, 'users', String(context['user'] ?? ''), 'user') };
}

const isSection = (value: unknown): value is Section => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Empty where it is not there: what is missing is told by whoever uses the kubeconfig. */
function find(config: Section, list: string, name: string, kind: string): Section {
  const entries = config[list];
  const entry = Array.isArray(entries) ? (entries as readonly unknown[]).find((each): each is Section => isSection(each) && each['name'] === name) : undefined;
  const section = entry?.[kind];
  return isSection(section) ? section : {};
}
