// Runs test files in processes of their own, as `node --test` does, but those that take longest first: node:test takes
// files by their names, and a long one that starts last runs alone.
// usage: [TEST_REPORT=FILE] node --import=./scripts/test-hooks.mjs scripts/real-tests.mjs CONCURRENCY PATTERN...
import { createWriteStream, globSync } from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { longestFirst } from './long-tests.ts';
import summaryReporter from './test-reporter.mjs';

function main([concurrency, ...patterns]) {
  const reportFile = process.env.TEST_REPORT;
  const events = run({
    files: longestFirst(globSync(patterns)).map((file) => path.resolve(file)),
    concurrency: Number(concurrency),
    globalSetupPath: path.resolve('test/integration/support/agent-build.ts'),
  });
  // The summary of a file has its name.
  events.on('test:summary', ({ file, success }) => {
    if (file === undefined && !success) process.exitCode = 1;
  });
  events.compose(new spec()).pipe(process.stdout);
  if (reportFile !== undefined) events.compose(summaryReporter).pipe(createWriteStream(reportFile));
}

if (import.meta.main) main(process.argv.slice(2));
