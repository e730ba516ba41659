// npm run bench -- cluster: the kubelet as a node of a cluster, beside raw CRI calls doing the same work, on one
// private containerd, in one run.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../../../src/base/errors.ts';
import { HttpApiClient } from '../../../src/client/http-api-client.ts';
import { HttpTransport } from '../../../src/client/http-transport.ts';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import { startCluster } from '../../e2e/support/cluster.ts';
import { builtProgram } from '../../integration/support/agent-build.ts';
import { writeNodeKubeconfig } from '../../integration/support/cluster-agent.ts';
import type { TestContainerd } from '../../integration/support/containerd.ts';
import { TestDevicePlugin } from '../../integration/support/device-plugin.ts';
import { startContainerd } from '../../integration/support/containerd.ts';
import { replaceSection } from '../control-plane/document.ts';
import { interruption } from '../interruption.ts';
import { describeMachine, measureBusyShare, QUIET_SHARE, renderMachine } from '../machine.ts';
import type { Row } from '../report.ts';
import { judge, renderMarkdown, renderTable } from '../report.ts';
import type { ClusterContext } from './context.ts';
import { wants } from './context.ts';
import { measureBurst } from './measure-burst.ts';
import { measureEndpoints } from './measure-endpoints.ts';
import { measureExit, measureRestart, measureStartAndDelete } from './measure-single.ts';
import { measureSteady } from './measure-steady.ts';
import { Member, NODE_NAME } from './member.ts';
import type { ClusterBenchOptions, ClusterRowName } from './options.ts';
import { parseOptions, USAGE } from './options.ts';
import { PodBoard } from './pod-board.ts';
import { upstreamColumn, withUpstream } from './upstream-column.ts';

/** A run that takes longer counts as hung. */
const LIMIT_MS = 15 * 60_000;
const READY_TIMEOUT_MS = 60_000;
const SUBJECT = 'kubelet';
const DOCUMENT = join(import.meta.dirname, '..', '..', '..', 'docs', 'benchmarks.md');
const say = (text: string): void => console.error(`bench: ${text}`);

const STAGES: readonly {
  readonly rows: readonly ClusterRowName[];
  readonly run: (context: ClusterContext) => Promise<void>;
}[] = [
  { rows: ['start', 'delete'], run: measureStartAndDelete },
  { rows: ['restart'], run: measureRestart },
  { rows: ['exit'], run: measureExit },
  { rows: ['endpoints'], run: measureEndpoints },
  { rows: ['burst30'], run: (context) => measureBurst(context, 30) },
  { rows: ['burst100'], run: (context) => measureBurst(context, 100) },
  { rows: ['steady', 'scrape'], run: measureSteady },
];

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options === undefined) {
    console.log(USAGE);
    return 0;
  }
  const column =
    options.upstreamFile === undefined
      ? new Map<string, string>()
      : upstreamColumn(readFileSync(options.upstreamFile, 'utf8'));
  const [machine, busy] = [await describeMachine(), await measureBusyShare()];
  const rows: Row[] = [];
  const notes: string[] = [];
  if (busy > QUIET_SHARE)
    notes.push(
      `the machine was ${Math.round(busy * 100)} % busy with other work just before the run; rows of many pods at once mean little then`,
    );
  const startMs = performance.now();
  const error = await run(options, {
    add: (row) => rows.push(withUpstream(row, column)),
    note: (text) => notes.push(text),
    say,
  });
  const said = notes.map((text) => `note: ${text}`);
  console.log(
    ['', ...renderMachine(machine), '', ...(rows.length > 0 ? renderTable(rows, SUBJECT) : []), ...said].join('\n'),
  );
  const judged = rows.filter((row) => row.target !== undefined);
  console.log(
    `\n${judged.filter((row) => (judge(row).over ?? 0) <= 0).length} of ${judged.length} goals met, ${Math.round((performance.now() - startMs) / 1000)} s`,
  );
  if (options.jsonFile !== undefined) {
    const results = rows.map((row) => ({ ...row, ...judge(row), samples: { agent: row.agent, floor: row.floor } }));
    writeFileSync(
      options.jsonFile,
      `${JSON.stringify({ machine, quick: options.quick, rows: results, notes, malfunction: error }, null, 2)}\n`,
    );
  }
  if (error !== undefined) {
    console.error(`bench: malfunction: ${error}`);
    return 1;
  }
  if (options.write) {
    const { processors, memory, system, kernel, cgroups, containerd, runc, node, commit, load } = machine;
    const where = `${processors}, ${memory}, ${system}, Linux ${kernel}, cgroups ${cgroups}; containerd ${containerd}, runc ${runc}, Node ${node}; commit ${commit}; load before the run ${load}.`;
    writeFileSync(
      DOCUMENT,
      replaceSection(
        readFileSync(DOCUMENT, 'utf8'),
        'cluster',
        [where, '', ...renderMarkdown(rows, SUBJECT), ...(said.length > 0 ? ['', ...said] : [])].join('\n'),
      ),
    );
  }
  return 0;
}

/** Runs the measurements and stops everything that was started. Returns the error, if there was one. */
async function run(
  options: ClusterBenchOptions,
  sink: Pick<ClusterContext, 'add' | 'note' | 'say'>,
): Promise<string | undefined> {
  const stops: (() => unknown)[] = [];
  const interrupted = interruption(LIMIT_MS);
  let error: string | undefined;
  try {
    await Promise.race([measure(options, sink, stops), interrupted]);
  } catch (cause) {
    error = errorMessage(cause);
  }
  say('cleaning up');
  for (const stop of stops.reverse()) {
    try {
      await stop();
    } catch (cause) {
      error = `${error === undefined ? '' : `${error}; `}${errorMessage(cause)}`;
    }
  }
  return error;
}

async function measure(
  options: ClusterBenchOptions,
  sink: Pick<ClusterContext, 'add' | 'note' | 'say'>,
  stops: (() => unknown)[],
): Promise<void> {
  say('starting containerd and the control plane, building the programs');
  const containerd = await startContainerd({ name: 'bench' });
  stops.push(
    () => containerd.stop(),
    () => keepLogs(containerd, options.logFolder),
  );
  const { kubeconfig, nodeKubeconfig } = await findCluster(options, containerd, stops);
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'bench' });
  stops.push(() => transport.close());
  const client = new HttpApiClient(transport);
  const board = new PodBoard(client, NODE_NAME);
  const member = await Member.prepare(containerd, {
    program: options.kubelet ?? (await builtProgram('kubelet')),
    kubeconfig,
    nodeKubeconfig,
    managers: options.managers,
  });
  stops.push(
    () => member.stop(),
    () => board.clear(),
  );
  member.start();
  if (!(await board.nodeReady(READY_TIMEOUT_MS))) throw member.broken('did not become a ready node');
  if (options.managers) {
    const plugin = new TestDevicePlugin('example.com/gpu', containerd.instance.kubeletRoot, [
      { id: 'g0', nodes: [0] },
      { id: 'g1', nodes: [0] },
    ]);
    stops.push(() => plugin.dispose());
    await plugin.start();
  }
  const context: ClusterContext = { ...sink, containerd, member, board, options, client };
  for (const { rows, run: take } of STAGES.filter((stage) => wants(context, ...stage.rows))) {
    say(`taking ${rows.filter((row) => wants(context, row)).join(' and ')}`);
    await take(context);
  }
}

/** The given API server, or an embedded control plane with a certificate for the node. */
async function findCluster(
  options: ClusterBenchOptions,
  containerd: TestContainerd,
  stops: (() => unknown)[],
): Promise<{ kubeconfig: string; nodeKubeconfig: string }> {
  if (options.kubeconfig !== undefined)
    return { kubeconfig: options.kubeconfig, nodeKubeconfig: options.nodeKubeconfig ?? options.kubeconfig };
  const cluster = await startCluster();
  stops.push(() => cluster.stop());
  return {
    kubeconfig: cluster.kubeconfig,
    nodeKubeconfig: await writeNodeKubeconfig(cluster, join(containerd.instance.dataDir, 'node.conf'), NODE_NAME),
  };
}

function keepLogs({ instance }: TestContainerd, folder: string | undefined): void {
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  for (const [from, name] of [
    [instance.kubeletLog, 'kubelet.log'],
    [instance.containerdLog, 'containerd.log'],
  ] as const)
    if (existsSync(from)) copyFileSync(from, join(folder, name));
  say(`logs are in ${folder}`);
}

process.exit(
  await main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(`bench: ${errorMessage(error)}`);
    return 2;
  }),
);
