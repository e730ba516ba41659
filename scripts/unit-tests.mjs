// Runs test files in this process, as `node --test --test-isolation=none` does, which loads node:test too early for
// test-hooks.mjs.
// usage: [TEST_SHARD=INDEX/TOTAL] [TEST_REPORT=FILE] node --test-timeout=MS scripts/unit-tests.mjs PATTERN...
import './test-hooks.mjs';
import { createWriteStream } from 'node:fs';
import summaryReporter from './test-reporter.mjs';

const { run } = await import('node:test');
const { spec } = await import('node:test/reporters');
const [index = 1, total = 1] = (process.env.TEST_SHARD ?? '1/1').split('/').map(Number);
const reportFile = process.env.TEST_REPORT;
const globPatterns = process.argv.slice(2);
const events = run({ isolation: 'none', globPatterns, shard: { index, total } });
// The summary of a file has its name.
events.on('test:summary', ({ file, success }) => {
  if (file === undefined && !success) process.exitCode = 1;
});
events.compose(new spec()).pipe(process.stdout);
if (reportFile !== undefined) events.compose(summaryReporter).pipe(createWriteStream(reportFile));
