import type { Pod } from './core/pod.ts';

/** The text of a whole metadata field as the downward API shows it (upstream: pkg/fieldpath); undefined for any other path. */
export function podMetadataText({ metadata }: Pod, fieldPath: string): string | undefined {
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    default:
      return undefined;
  }
}

/** One `key="value"` per line, sorted by key, the value quoted as Go does it. */
function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}
