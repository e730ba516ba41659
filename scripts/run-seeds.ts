// Runs the commands of docs/seeds.md and says which rows do not answer as the table says.
// usage: node scripts/run-seeds.ts [ROW...]   (a cluster started as the document says it, and its variables exported)
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isAnswered, parseSeedsTable, runShell } from './seeds-table.ts';

const LIMIT_MS = 120_000;
const document = path.join(import.meta.dirname, '..', 'docs', 'seeds.md');
const wanted = new Set(process.argv.slice(2));
const { rows } = parseSeedsTable(readFileSync(document, 'utf8'));
for (const { id, command, answer } of rows.filter((row) => wanted.size === 0 || wanted.has(row.id))) {
  const { code, output } = await runShell(command, process.env, LIMIT_MS);
  const isRight = code === 0 && isAnswered(output, answer);
  if (!isRight) process.exitCode = 1;
  process.stdout.write(`${isRight ? 'ok  ' : 'FAIL'} ${id} ${command}\n${isRight ? '' : `exit ${code}\n${output}\n`}`);
}
