// npm run bench -- control-plane: the embedded control plane beside bare stores, with clients in other processes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../../../src/base/errors.ts';
import { describeMachine, measureBusyShare, QUIET_SHARE, renderMachine } from '../machine.ts';
import { judge, renderMarkdown, renderTable } from '../report.ts';
import type { Row } from '../report.ts';
import type { StageContext } from './context.ts';
import { replaceSection } from './document.ts';
import { measureDisk } from './measure-disk.ts';
import { measurePods } from './measure-pods.ts';
import { measureWatchers } from './measure-watchers.ts';
import { measureStore } from './measure-writes.ts';
import { parseOptions, USAGE } from './options.ts';
import type { StageName } from './options.ts';

/** A run that takes longer hangs somewhere. */
const LIMIT_MS = 8 * 60_000;
const SUBJECT = 'control plane';
const DOCUMENT = join(import.meta.dirname, '..', '..', '..', 'docs', 'benchmarks.md');

const STAGES: Record<StageName, (context: StageContext) => Promise<void>> = {
  sqlite: (context) => measureStore('sqlite', context),
  etcd: (context) => measureStore('etcd', context),
  watchers: measureWatchers,
  pods: measurePods,
  disk: measureDisk,
};

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options === undefined) {
    console.log(USAGE);
    return 0;
  }
  const [machine, busy] = [await describeMachine(), await measureBusyShare()];
  const rows: Row[] = [];
  const notes: string[] = [];
  if (busy > QUIET_SHARE) notes.push(`the machine was ${Math.round(busy * 100)} % busy with other work just before the run`);
  const startMs = performance.now();
  const context: StageContext = { options, add: (row) => rows.push(row), note: (text) => notes.push(text), say: (text) => console.error(`bench: ${text}`) };
  let error: string | undefined;
  const hangs = setTimeout(() => {
    console.error(`bench: took longer than ${LIMIT_MS / 60_000} minutes`);
    process.exit(1);
  }, LIMIT_MS);
  try {
    for (const name of options.only) {
      context.say(`taking ${name} of the control plane`);
      await STAGES[name](context);
    }
  } catch (cause) {
    error = errorMessage(cause);
  }
  clearTimeout(hangs);
  const missed = rows.filter((row) => (judge(row).over ?? 0) > 0).length;
  const judged = rows.filter((row) => row.target !== undefined).length;
  const said = notes.map((text) => `note: ${text}`);
  console.log(['', ...renderMachine(machine), '', ...(rows.length > 0 ? renderTable(rows, SUBJECT) : []), ...said].join('\n'));
  console.log(`\n${judged - missed} of ${judged} goals met, ${Math.round((performance.now() - startMs) / 1000)} s`);
  if (options.jsonFile !== undefined) writeFileSync(options.jsonFile, `${JSON.stringify({ machine, quick: options.quick, rows: rows.map((row) => ({ ...row, ...judge(row), samples: row.agent })), notes, malfunction: error }, null, 2)}\n`);
  if (error !== undefined) {
    console.error(`bench: malfunction: ${error}`);
    return 1;
  }
  if (options.write) {
    const { processors, memory, system, kernel, node, commit, load } = machine;
    const where = `${processors}, ${memory}, ${system}, Linux ${kernel}; Node ${node}; commit ${commit}; load before the run ${load}.`;
    writeFileSync(DOCUMENT, replaceSection(readFileSync(DOCUMENT, 'utf8'), 'control-plane', [where, '', ...renderMarkdown(rows, SUBJECT), ...(said.length > 0 ? ['', ...said] : [])].join('\n')));
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`bench: ${errorMessage(error)}`);
  return 2;
});
