// npm run bench: the agent beside raw CRI calls doing the same work, on one private containerd, in one run.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../../src/base/errors.ts';
import type { TestContainerd } from '../integration/support/containerd.ts';
import { startContainerd } from '../integration/support/containerd.ts';
import { BenchAgent } from './bench-agent.ts';
import type { BenchContext } from './bench-context.ts';
import { interruption } from './interruption.ts';
import { describeMachine, measureBusyShare, QUIET_SHARE, renderMachine } from './machine.ts';
import { measureDocker } from './measure-docker.ts';
import { measureBurst } from './measure-burst.ts';
import { measureMany } from './measure-many.ts';
import { measureProbes } from './measure-probes.ts';
import { measureExit, measureRestart, measureStartAndDelete } from './measure-single.ts';
import type { BenchOptions, RowName } from './options.ts';
import { parseOptions, USAGE } from './options.ts';
import type { Row } from './report.ts';
import { judge, renderMarkdown, renderTable } from './report.ts';

/** A run that takes longer counts as hung: it is stopped, cleaned up and reported as a failure. */
const LIMIT_MS = 12 * 60_000;

interface Stage {
  readonly rows: readonly RowName[];
  readonly run: (context: BenchContext) => Promise<void>;
}

const STAGES: readonly Stage[] = [
  { rows: ['start', 'delete'], run: (context) => measureStartAndDelete(context) },
  { rows: ['restart'], run: measureRestart },
  { rows: ['exit'], run: measureExit },
  { rows: ['burst'], run: measureBurst },
  { rows: ['idle', 'startup'], run: measureMany },
  { rows: ['probes'], run: measureProbes },
];

const say = (text: string): void => console.error(`bench: ${text}`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options === undefined) {
    console.log(USAGE);
    return 0;
  }
  const machine = await describeMachine();
  const rows: Row[] = [];
  const notes: string[] = [];
  const busy = await measureBusyShare();
  if (busy > QUIET_SHARE)
    notes.push(
      `the machine was ${Math.round(busy * 100)} % busy with other work just before the run; rows of many pods at once mean little then`,
    );
  const startMs = performance.now();
  const error = await run(options, rows, notes);
  console.log(
    [
      '',
      ...renderMachine(machine),
      '',
      ...(rows.length > 0 ? renderTable(rows) : []),
      ...notes.map((text) => `note: ${text}`),
    ].join('\n'),
  );
  const missed = rows.filter((row) => (judge(row).over ?? 0) > 0).length;
  const judged = rows.filter((row) => row.target !== undefined).length;
  console.log(`\n${judged - missed} of ${judged} targets met, ${Math.round((performance.now() - startMs) / 1000)} s`);
  if (options.jsonFile !== undefined) {
    const results = rows.map((row) => ({ ...row, ...judge(row), samples: { agent: row.agent, floor: row.floor } }));
    writeFileSync(
      options.jsonFile,
      `${JSON.stringify({ machine, quick: options.quick, rows: results, notes, markdown: renderMarkdown(rows), malfunction: error }, null, 2)}\n`,
    );
  }
  if (error === undefined) return 0;
  console.error(`bench: malfunction: ${error}`);
  return 1;
}

/** Runs the measurements and stops everything that was started. Returns the error, if there was one. */
async function run(options: BenchOptions, rows: Row[], notes: string[]): Promise<string | undefined> {
  let containerd: TestContainerd | undefined;
  let agent: BenchAgent | undefined;
  let error: string | undefined;
  const interrupted = interruption(LIMIT_MS);
  try {
    say('starting containerd, building the agent');
    containerd = await startContainerd({ name: 'bench' });
    agent = await BenchAgent.prepare(containerd);
    const context: BenchContext = {
      containerd,
      agent,
      options,
      add: (row) => rows.push(row),
      note: (text) => notes.push(text),
      say,
    };
    if (STAGES.some(({ rows: names }) => isWanted(options, names))) await Promise.race([measure(context), interrupted]);
  } catch (cause) {
    error = errorMessage(cause);
  }
  try {
    if (containerd !== undefined) {
      say('cleaning up');
      await agent?.stop();
      keepLogs(
        containerd,
        options.logFolder ?? (error === undefined ? undefined : join('/tmp', `kubelet-ts-bench-${process.pid}`)),
      );
      await containerd.stop();
    }
    if (error === undefined && options.only.includes('docker')) {
      say('taking the start of a pod on Docker');
      await Promise.race([
        measureDocker({ options, add: (row) => rows.push(row), note: (text) => notes.push(text), say }),
        interrupted,
      ]);
    }
  } catch (cause) {
    error = `${error === undefined ? '' : `${error}; `}${errorMessage(cause)}`;
  }
  return error;
}

const isWanted = ({ only }: BenchOptions, rows: readonly RowName[]): boolean => rows.some((row) => only.includes(row));

async function measure(context: BenchContext): Promise<void> {
  await context.agent.start();
  for (const stage of STAGES.filter(({ rows }) => isWanted(context.options, rows))) {
    context.say(`taking ${stage.rows.filter((row) => context.options.only.includes(row)).join(' and ')}`);
    await stage.run(context);
  }
}

function keepLogs(containerd: TestContainerd, folder: string | undefined): void {
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  const { kubeletLog, containerdLog } = containerd.instance;
  for (const [from, name] of [
    [kubeletLog, 'kubelet.log'],
    [containerdLog, 'containerd.log'],
  ] as const)
    if (existsSync(from)) copyFileSync(from, join(folder, name));
  say(`logs are in ${folder}`);
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`bench: ${errorMessage(error)}`);
  return 2;
});
