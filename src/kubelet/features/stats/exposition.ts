// The text format of Prometheus 0.0.4. It is written directly: a node with 100 pods has 25,000 lines, and a library of
// metric objects takes five times as long.

export type FamilyType = 'counter' | 'gauge';

/** Escapes the value of a label. */
export function labelValue(value: string): string {
  return /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}

/** Formats labels as `a="b",c="d"`, in the given order. The format requires no order. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${labelValue(value)}"`)
    .join(',');
}

export function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

export function familyHead(name: string, help: string, type: FamilyType): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
}

/** Formats one line. `labels` is a result of `labelText`. Without `atMs`, the time of the scrape applies. */
export function sampleLine(name: string, labels: string, value: number, atMs?: number): string {
  const labelled = labels === '' ? name : `${name}{${labels}}`;
  return atMs === undefined
    ? `${labelled} ${numberText(value)}\n`
    : `${labelled} ${numberText(value)} ${Math.floor(atMs)}\n`;
}

export const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';
