// npm run bench -- control-plane: the embedded control plane beside bare stores, with clients in other processes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../../../src/base/errors.ts';
import { describeMachine, measureBusyShare, QUIET_SHARE, renderMachine } from '../machine.ts';
import { interruption } from '../interruption.ts';
import { judge, renderMarkdown, renderTable } from '../report.ts';
import type { Row } from '../report.ts';
import type { StageContext } from './context.ts';
import { replaceSection } from './document.ts';
import { measureCustom } from './measure-custom.ts';
import { measureDisk } from './measure-disk.ts';
import { measureLarge } from './measure-large.ts';
import { measurePods } from './measure-pods.ts';
import { measureWatchers } from './measure-watchers.ts';
import { measureStore } from './measure-writes.ts';
import { parseOptions, USAGE } from './options.ts';
import type { StageName } from './options.ts';

/** A run that takes longer counts as hung. */
const LIMIT_MS = 15 * 60_000;
const SUBJECT = 'control plane';
const say = (text: string): void => console.error(`bench: ${text}`);
const DOCUMENT = join(import.meta.dirname, '..', '..', '..', 'docs', 'benchmarks.md');

const STAGES: Record<StageName, (context: StageContext) => Promise<void>> = {
  sqlite: (context) => measureStore('sqlite', context),
  etcd: (context) => measureStore('etcd', context),
  watchers: measureWatchers,
  pods: measurePods,
  large: measureLarge,
  custom: measureCustom,
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
  if (busy > QUIET_SHARE)
    notes.push(`the machine was ${Math.round(busy * 100)} % busy with other work just before the run`);
  const startMs = performance.now();
  const stops: (() => void | Promise<void>)[] = [];
  const context: StageContext = {
    options,
    add: (row) => {
      rows.push(row);
      // What a run that fails later has measured is not lost.
      say(`${row.name}: ${row.agent.map((sample) => sample.toPrecision(3)).join(' ')} ${row.unit}`);
    },
    defer: (stop) => stops.push(stop),
    note: (text) => notes.push(text),
    say,
  };
  const error = await run(context, stops);
  const missed = rows.filter((row) => (judge(row).over ?? 0) > 0).length;
  const judged = rows.filter((row) => row.target !== undefined).length;
  const said = notes.map((text) => `note: ${text}`);
  console.log(
    ['', ...renderMachine(machine), '', ...(rows.length > 0 ? renderTable(rows, SUBJECT) : []), ...said].join('\n'),
  );
  console.log(`\n${judged - missed} of ${judged} goals met, ${Math.round((performance.now() - startMs) / 1000)} s`);
  if (options.jsonFile !== undefined)
    writeFileSync(
      options.jsonFile,
      `${JSON.stringify({ machine, quick: options.quick, rows: rows.map((row) => ({ ...row, ...judge(row), samples: row.agent })), notes, malfunction: error }, null, 2)}\n`,
    );
  if (error !== undefined) {
    console.error(`bench: malfunction: ${error}`);
    return 1;
  }
  if (options.write) {
    const { processors, memory, system, kernel, node, commit, load } = machine;
    const where = `${processors}, ${memory}, ${system}, Linux ${kernel}; Node ${node}; commit ${commit}; load before the run ${load}.`;
    writeFileSync(
      DOCUMENT,
      replaceSection(
        readFileSync(DOCUMENT, 'utf8'),
        'control-plane',
        [where, '', ...renderMarkdown(rows, SUBJECT), ...(said.length > 0 ? ['', ...said] : [])].join('\n'),
      ),
    );
  }
  return 0;
}

/** Runs the stages and stops everything that was started. Returns the error, if there was one. */
async function run(context: StageContext, stops: (() => void | Promise<void>)[]): Promise<string | undefined> {
  const interrupted = interruption(LIMIT_MS);
  let error: string | undefined;
  for (const name of context.options.only) {
    if (error !== undefined) break;
    context.say(`taking ${name} of the control plane`);
    try {
      await Promise.race([STAGES[name](context), interrupted]);
    } catch (cause) {
      error = errorMessage(cause);
    }
    for (const stop of stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (cause) {
        error = `${error === undefined ? '' : `${error}; `}${errorMessage(cause)}`;
      }
    }
  }
  return error;
}

process.exit(
  await main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(`bench: ${errorMessage(error)}`);
    return 2;
  }),
);
