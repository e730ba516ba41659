// A node:test reporter that writes one JSON line: the counts of the whole run, the names of what failed or was skipped,
// and the slowest tests.
const MOST_SLOW = 10;

export default async function* summaryReporter(source) {
  const failed = [];
  const skipped = [];
  let slowest = [];
  let counts;
  for await (const event of source) {
    const { type, data } = event;
    if (type === 'test:fail' && data.details?.type !== 'suite') failed.push(data.name);
    if (type === 'test:pass' && data.details?.type !== 'suite' && (data.skip !== undefined || data.todo !== undefined))
      skipped.push(data.name);
    // A suite takes as long as its tests; a file that failed as a whole is reported as a test of nesting 0 with its path.
    if ((type === 'test:pass' || type === 'test:fail') && data.details?.type !== 'suite') {
      slowest.push({ name: data.name, ms: Math.round(data.details?.duration_ms ?? 0) });
      slowest = slowest.sort((left, right) => right.ms - left.ms).slice(0, MOST_SLOW);
    }
    // A summary with a file belongs to that file alone.
    if (type === 'test:summary' && data.file === undefined) counts = data.counts;
  }
  yield `${JSON.stringify({ counts, failed, skipped, slowest })}\n`;
}
