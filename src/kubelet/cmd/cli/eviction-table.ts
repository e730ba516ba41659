import { formatDurationMs } from '../../../api/duration.ts';
import { quantityOf } from '../../../api/quantity.ts';
import { table } from './pod-table.ts';
import type {
  EvictionReport,
  RankedPodReport,
  RankingReport,
  SignalReport,
  ThresholdReport,
} from '../../model/eviction-report.ts';

/** The maximum number of pods shown of each ranking; `-o json` has all. */
const SHOWN_PODS = 10;

/** Formats the output of `kubelet evict --dry-run`: signals, conditions, what the node would free, and each ranking. */
export function evictionText(report: EvictionReport): string {
  return [
    table([['SIGNAL', 'AVAILABLE', 'CAPACITY', 'THRESHOLD', 'LEFT', 'STATE'], ...report.signals.flatMap(signalRows)]),
    conditionLines(report),
    reclaimLine(report),
    ...report.rankings.map(rankingText),
  ].join('\n');
}

function amountText(amount: number | undefined, resource: string): string {
  if (amount === undefined) return 'unknown';
  const inBytes = resource === 'memory' || resource === 'ephemeral-storage';
  if (!inBytes) return String(Math.round(amount));
  // Whole mebibytes are easier to compare than exact bytes.
  return Math.abs(amount) < 2 ** 20 ? quantityOf(amount, 'BinarySI') : `${Math.round(amount / 2 ** 20)}Mi`;
}

function signalRows({ signal, resource, available, capacity, thresholds }: SignalReport): string[][] {
  const start = [signal, amountText(available, resource), amountText(capacity, resource)];
  if (thresholds.length === 0) return [[...start, '-', '-', 'no threshold']];
  return thresholds.map((threshold) => [
    ...start,
    `${threshold.kind} ${amountText(threshold.amount, resource)}`,
    amountText(available - threshold.amount, resource),
    thresholdState(threshold),
  ]);
}

function thresholdState({ kind, graceMs, metForMs }: ThresholdReport): string {
  if (metForMs === undefined) return 'ok';
  const leftMs = graceMs - metForMs;
  if (kind === 'hard' || leftMs <= 0) return 'met: pods are evicted';
  return `met: pods are evicted in ${formatDurationMs(Math.ceil(leftMs / 1000) * 1000)}`;
}

function conditionLines({ conditions, leaving }: EvictionReport): string {
  const lines = conditions.map(
    ({ type, forMs }) => `${type} stays for at least ${formatDurationMs(Math.ceil(forMs / 1000) * 1000)}\n`,
  );
  if (leaving !== undefined) lines.push(`${leaving} is being evicted; the next pod can be evicted after its end\n`);
  return lines.length === 0 ? 'the node is not under pressure\n' : lines.join('');
}

function reclaimLine({ reclaimable: { containers, images, imageBytes } }: EvictionReport): string {
  return `before any pod, disk space is taken from ${containers} ended containers and ${images} unused images (${amountText(imageBytes, 'memory')})\n`;
}

function rankingText({ signal, resource, first, pods }: RankingReport): string {
  const title = `for ${signal}: ${first === undefined ? 'no pod would be evicted' : `${first} would be evicted first`}\n`;
  const rows = pods.slice(0, SHOWN_PODS).map((pod, index) => podRow(pod, index, resource));
  const more = pods.length > SHOWN_PODS ? `... and ${pods.length - SHOWN_PODS} more\n` : '';
  return rows.length === 0
    ? title
    : title + table([['RANK', 'POD', 'USES', 'REQUEST', 'ABOVE', 'PRIORITY', ''], ...rows]) + more;
}

function podRow({ pod, usage, request, priority, spared }: RankedPodReport, index: number, resource: string): string[] {
  return [
    String(index + 1),
    pod,
    amountText(usage, resource),
    amountText(request, resource),
    usage === undefined ? '-' : amountText(Math.max(0, usage - request), resource),
    String(priority),
    spared ? 'never evicted' : usage === 0 ? 'would free nothing' : '',
  ];
}
