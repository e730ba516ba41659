/** The table of docs/metrics.md: the families of each endpoint, from the list that a test holds against what is registered. */
import { metricGroups, namesIn } from '../src/kubelet/model/parity/metric-groups.ts';

export const METRICS_DOCUMENT = 'docs/metrics.md';

const block = /(<!-- families:begin -->\n)[\s\S]*?(<!-- families:end -->)/;

/** Alpha is what most are, and is not marked. */
function familiesTable(): string {
  const rows = metricGroups.map(({ endpoint, about, absent, stable, beta, alpha }) => {
    const names = [
      ...namesIn(stable).map((name) => `\`${name}\` (stable)`),
      ...namesIn(beta).map((name) => `\`${name}\` (beta)`),
      ...namesIn(alpha).map((name) => `\`${name}\``),
    ];
    return `| \`${endpoint}\` | ${about} | ${absent === undefined ? 'counted' : `absent: ${absent}`} | ${names.join(', ')} |`;
  });
  return ['| Path | About | State | Families |', '|---|---|---|---|', ...rows].join('\n');
}

/** The document with its table as it ought to be; unchanged where it has no place for one. */
export function withFamilies(text: string): string {
  return text.replace(block, (_all, begin: string, end: string) => `${begin}\n${familiesTable()}\n\n${end}`);
}

export function hasFamilies(text: string): boolean {
  return block.test(text);
}
