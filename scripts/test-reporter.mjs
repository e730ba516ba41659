// A node:test reporter that writes one JSON line: the counts of the whole run, and the names of what failed or was skipped.
export default async function* summaryReporter(source) {
  const failed = [];
  const skipped = [];
  let counts;
  for await (const event of source) {
    const { type, data } = event;
    if (type === 'test:fail' && data.details?.type !== 'suite') failed.push(data.name);
    if (type === 'test:pass' && data.details?.type !== 'suite' && (data.skip !== undefined || data.todo !== undefined))
      skipped.push(data.name);
    // A summary with a file belongs to that file alone.
    if (type === 'test:summary' && data.file === undefined) counts = data.counts;
  }
  yield `${JSON.stringify({ counts, failed, skipped })}\n`;
}
