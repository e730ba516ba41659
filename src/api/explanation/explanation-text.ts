import { age } from './age.ts';
import type { PodExplanation } from './explanation.ts';

/** Formats the explanation of one pod for people: the verdict, what delays it, and below it the recorded events. */
export function explanationText(explanation: PodExplanation, nowMs: number, withTimeline: boolean): string {
  const lines = [
    `${explanation.namespace}/${explanation.name}: ${explanation.phase}, ${explanation.settled ? 'settled' : 'not settled'}`,
  ];
  for (const blocker of explanation.blockers) {
    lines.push(
      `  blocked on   ${blocker.step}`,
      `    because    ${blocker.cause}`,
      `    since      ${age(nowMs - blocker.sinceMs)} ago`,
    );
    for (const [index, detail] of (blocker.details ?? []).entries())
      lines.push(`    ${index === 0 ? 'namely' : '      '}     ${oneLine(detail)}`);
    if (blocker.lastError !== undefined) lines.push(`    last error ${oneLine(blocker.lastError)}`);
    if (blocker.nextTryAtMs !== undefined) lines.push(`    next try   ${nextTry(blocker.nextTryAtMs - nowMs)}`);
    for (const suggestion of blocker.suggestions ?? []) lines.push(`    to do      ${suggestion}`);
  }
  for (const suggestion of explanation.suggestions) lines.push(`  to do        ${suggestion}`);
  if (withTimeline && explanation.timeline.length > 0) {
    lines.push('  timeline');
    for (const entry of explanation.timeline) {
      const times = entry.count > 1 ? ` (x${entry.count})` : '';
      lines.push(
        `    ${age(nowMs - entry.atMs).padStart(6)} ago  ${entry.type === 'Warning' ? '!' : ' '} ${entry.reason}: ${oneLine(entry.message)}${times}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Messages of programs often contain line breaks, but here each item is one line. */
function oneLine(text: string): string {
  return text.trim().replace(/(?<!\s)\s*[\r\n]\s*/g, ' | ');
}

function nextTry(inMs: number): string {
  return inMs <= 0 ? 'now' : `in ${age(inMs + 999)}`;
}
