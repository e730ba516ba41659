/** The column with the values of upstream's kubelet, for comparison. Pure. */
import type { Row } from '../report.ts';

interface MeasuredRow {
  readonly name: string;
  readonly unit: string;
  readonly agent: { readonly median: number };
  readonly floor?: { readonly median: number };
}

/**
 * Reads the document that a run with `--kubelet` wrote with `--json`. Rows relative to a floor use the floor of their
 * own run.
 */
export function upstreamColumn(document: string): ReadonlyMap<string, string> {
  const { rows } = JSON.parse(document) as { rows: readonly MeasuredRow[] };
  return new Map(rows.map((row) => [row.name, describe(row)]));
}

export const withUpstream = (row: Row, column: ReadonlyMap<string, string>): Row => {
  const upstream = column.get(row.name);
  return upstream === undefined ? row : { ...row, upstream };
};

function describe({ name, unit, agent, floor }: MeasuredRow): string {
  const median = `${Math.abs(agent.median) < 10 ? agent.median.toFixed(1) : Math.round(agent.median)} ${unit}`;
  if (floor === undefined || name === 'exit') return median;
  return name.startsWith('burst')
    ? `${median}, x${(agent.median / floor.median).toFixed(2)}`
    : `floor + ${Math.round(agent.median - floor.median)} ms`;
}
