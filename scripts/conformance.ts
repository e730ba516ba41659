// Writes the results of Conformance runs into docs/conformance.md, with --node those of upstream's node suite into
// docs/node-conformance.md. Results of specs that the reports do not have stay.
// usage: node scripts/conformance.ts [--node] COMMIT REPORT.json...   (of ginkgo --json-report; later reports replace earlier ones)
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  conformance,
  mergeResults,
  nodeConformance,
  readDocument,
  readReport,
  withResults,
} from './conformance-table.ts';

const args = process.argv.slice(2);
const suite = args[0] === '--node' ? nodeConformance : conformance;
const [commit = '', ...reports] = suite === nodeConformance ? args.slice(1) : args;
if (!/^[0-9a-f]{7,40}$/.test(commit) || reports.length === 0) {
  process.stderr.write('usage: node scripts/conformance.ts [--node] COMMIT REPORT.json...\n');
  process.exit(2);
}
const file = path.join(import.meta.dirname, '..', suite.file);
const document = readFileSync(file, 'utf8');
const results = mergeResults(
  readDocument(document),
  ...reports.map((report) => readReport(readFileSync(report, 'utf8'), commit, suite)),
);
writeFileSync(file, withResults(document, results));
const passed = results.filter(({ state }) => state === 'passed').length;
process.stdout.write(`${passed} of ${results.length} passed\n`);
