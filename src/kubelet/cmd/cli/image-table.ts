import type { ImageGcReport } from '../../model/image-gc-report.ts';
import { table } from './pod-table.ts';

/** Formats the output of `kubelet images --gc --dry-run`. */
export function imageGcText(report: ImageGcReport): string {
  const { mountpoint, usedPercent, highPercent, lowPercent, bytesToFree, images } = report;
  const removed = images.filter(({ verdict }) => verdict === 'remove');
  const freedBytes = removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return [
    `${mountpoint}: ${usedPercent}% used; images are removed from ${highPercent}% down to ${lowPercent}%\n`,
    `now: ${removed.length} images, ${mebibytes(freedBytes)}${bytesToFree > freedBytes ? ` of the ${mebibytes(bytesToFree)} that are to be freed` : ''}\n\n`,
    table([
      ['IMAGE', 'SIZE', 'VERDICT', 'WHY'],
      ...images.map(({ name, sizeBytes, verdict, why }) => [name, mebibytes(sizeBytes), verdict, why]),
    ]),
  ].join('');
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)}Mi`;
}
