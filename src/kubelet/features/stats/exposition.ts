// The text format of Prometheus 0.0.4, written directly: a node with 100 pods shows 25,000 lines, for which a library
// of metric objects takes five times as long.

export type FamilyType = 'counter' | 'gauge';

/** Quotes a label's value. */
export function labelValue(value: string): string {
  return /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}

/** `a="b",c="d"`, in the order given; the format requires no order. */
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

/** One line. `labels` as returned by `labelText`; without `atMs` the time of the scrape applies. */
export function sampleLine(name: string, labels: string, value: number, atMs?: number): string {
  const labelled = labels === '' ? name : `${name}{${labels}}`;
  return atMs === undefined
    ? `${labelled} ${numberText(value)}\n`
    : `${labelled} ${numberText(value)} ${Math.floor(atMs)}\n`;
}

export const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';
