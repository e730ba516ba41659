// A node:test reporter that writes one JSON line: the counts of the whole run, what failed and why, the names of what was
// skipped, the slowest tests, and the file that ended last where each has a process of its own.
const MOST_SLOW = 10;

/** The test's own error; node:test wraps it, and its message starts with the words of the wrapper. */
function messageOf(error) {
  const cause = error?.cause ?? error;
  return typeof cause === 'string' ? cause : (cause?.stack ?? cause?.message ?? String(cause));
}

export default async function* summaryReporter(source) {
  const failed = [];
  const skipped = [];
  let slowest = [];
  let counts;
  let lastFile;
  for await (const event of source) {
    const { type, data } = event;
    if (type === 'test:fail' && data.details?.type !== 'suite')
      failed.push({ name: data.name, file: data.file, message: messageOf(data.details?.error) });
    if (type === 'test:pass' && data.details?.type !== 'suite' && (data.skip !== undefined || data.todo !== undefined))
      skipped.push(data.name);
    // A suite takes as long as its tests; a file that failed as a whole is reported as a test of nesting 0 with its path.
    if ((type === 'test:pass' || type === 'test:fail') && data.details?.type !== 'suite') {
      slowest.push({ name: data.name, ms: Math.round(data.details?.duration_ms ?? 0) });
      slowest = slowest.sort((left, right) => right.ms - left.ms).slice(0, MOST_SLOW);
    }
    // A summary with a file belongs to that file alone.
    if (type === 'test:summary' && data.file === undefined) counts = data.counts;
    else if (type === 'test:summary') lastFile = data.file;
  }
  yield `${JSON.stringify({ counts, failed, skipped, slowest, lastFile })}\n`;
}
