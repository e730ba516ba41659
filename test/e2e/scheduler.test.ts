// The scheduler with extensions: an extender process, a plugin in JavaScript, and a second scheduler process.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../../src/up/agent.ts';
import { machineEnvironment } from '../../src/up/commands.ts';
import { describeProcess, stopProcess, waitUntil } from '../../src/up/processes.ts';
import { builtProgram } from '../integration/support/agent-build.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

const execute = promisify(execFile);
const allPaths = { op: 'replace', path: '/rules/0/nonResourceURLs', value: ['*'] };
const repository = path.join(import.meta.dirname, '..', '..');

describe('the scheduler and what extends it', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-scheduler-'));
  const at = (name: string): string => path.join(folder, name);
  const stops: (() => Promise<unknown>)[] = [];
  let cluster: TestCluster;

  /** Starts a process whose output goes to a file, by which the test notices its end. */
  const run = async (name: string, command: readonly string[], isReady: (output: string) => boolean): Promise<void> => {
    const out = openSync(at(`${name}.log`), 'a');
    const [program = '', ...args] = command;
    const child = spawn(program, args, { stdio: ['ignore', out, out], env: machineEnvironment() });
    closeSync(out);
    const record = describeProcess(child.pid ?? 0);
    stops.push(() => stopProcess(record, 10_000));
    const output = (): string => readFileSync(at(`${name}.log`), 'utf8');
    const ready = await waitUntil(() => child.exitCode !== null || isReady(output()), 60_000, 20);
    assert.ok(ready && child.exitCode === null, `${name} did not start:\n${output()}`);
  };
  const scheduler = async (name: string, ...flags: readonly string[]): Promise<void> =>
    run(name, [await builtProgram('kubelet-scheduler'), `--kubeconfig=${cluster.kubeconfig}`, ...flags], (output) =>
      output.includes('"scheduling"'),
    );
  const nodeOf = async (pod: string): Promise<string> =>
    (await cluster.kubectl(['get', 'pod', pod, '-o', 'jsonpath={.spec.nodeName}'])).trim();
  const create = async (name: string, more: { labels?: object; spec?: object } = {}): Promise<void> => {
    const metadata = { name, labels: more.labels ?? {} };
    const spec = { containers: [{ name: 'main', image: 'app:1' }], ...more.spec };
    const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
    await cluster.kubectl(['create', '-f', '-'], manifest);
  };
  const lands = (pod: string, node: string): Promise<void> =>
    eventually(async () => assert.equal(await nodeOf(pod), node));

  before(async () => {
    const port = await freePort(0);
    await run(
      'extender',
      [process.execPath, path.join(import.meta.dirname, 'support', 'extender-program.ts'), String(port)],
      (output) => output.includes('ready'),
    );
    const page = readFileSync(path.join(repository, 'docs', 'scheduler.md'), 'utf8');
    writeFileSync(at('quiet-nodes.js'), example(page, 'example-plugin'));
    const extender = [
      'extenders:',
      `- urlPrefix: http://127.0.0.1:${port}/x`,
      '  filterVerb: filter',
      '  prioritizeVerb: prioritize',
      '  weight: 100',
      '  httpTimeout: 1s',
      '  managedResources: [{ name: example.com/extended, ignoredByScheduler: true }]',
    ];
    writeFileSync(at('config.yaml'), `${example(page, 'example-config')}${extender.join('\n')}\n`);
    cluster = await startCluster({ nodes: 3, flags: [`--scheduler-config=${at('config.yaml')}`] });
    await cluster.kubectl(['label', 'node', 'fake-0', 'extender=no', 'quiet=yes']);
    await cluster.kubectl(['label', 'node', 'fake-1', 'extender=best']);
    await cluster.kubectl(['label', 'node', 'fake-2', 'quiet=never']);
  });
  after(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const asks = {
    containers: [{ name: 'main', image: 'app:1', resources: { limits: { 'example.com/extended': '1' } } }],
  };

  it('asks the extender about pods with its resource, and no others', async () => {
    await create('extended', { spec: asks });
    await lands('extended', 'fake-1');
    await create('refused', { spec: { ...asks, nodeSelector: { 'kubernetes.io/hostname': 'fake-0' } } });
    await eventually(async () =>
      assert.match(await cluster.kubectl(['describe', 'pod', 'refused']), /1 node\(s\) were refused by the extender/),
    );
    await create('plain', { spec: { nodeSelector: { 'kubernetes.io/hostname': 'fake-0' } } });
    await lands('plain', 'fake-0');
    assert.doesNotMatch(readFileSync(at('extender.log'), 'utf8'), /plain/);
  });

  it('gives up an extender that does not answer, says so, and goes on with other pods', async () => {
    await create('slow', { labels: { slow: '' }, spec: asks });
    await create('behind', { spec: asks });
    await lands('behind', 'fake-1');
    await eventually(async () =>
      assert.match(await cluster.kubectl(['describe', 'pod', 'slow']), /did not answer within 1000 ms/),
    );
    await cluster.kubectl(['delete', 'pod', 'slow']);
  });

  it('runs the plugin of the documents, for the pods of its profile', async () => {
    await create('quiet', { spec: { schedulerName: 'quiet' } });
    await lands('quiet', 'fake-0');
    await eventually(() => Promise.resolve(assert.match(cluster.log(), /quiet went to fake-0/)));
    await create('never', {
      spec: { schedulerName: 'quiet', nodeSelector: { 'kubernetes.io/hostname': 'fake-2' } },
    });
    await eventually(async () =>
      assert.match(await cluster.kubectl(['describe', 'pod', 'never']), /1 node\(s\) did not want company/),
    );
  });

  it('has a second scheduler, with a Policy and a lease; a third is on standby and takes over', async () => {
    const policy = {
      kind: 'Policy',
      apiVersion: 'v1',
      predicates: [{ name: 'Best', argument: { labelsPresence: { labels: ['extender'], presence: true } } }],
      priorities: [
        { name: 'NotRefused', weight: 1, argument: { labelPreference: { label: 'quiet', presence: false } } },
      ],
    };
    writeFileSync(at('policy.json'), JSON.stringify(policy));
    const flags = [
      `--policy-config-file=${at('policy.json')}`,
      '--scheduler-name=second',
      '--leader-elect-resource-name=second-scheduler',
      '--bind-address=127.0.0.1',
      // On a busy machine the leader must not lose its lease. A scheduler that stops releases it.
      ...[
        '--leader-elect-lease-duration=60s',
        '--leader-elect-renew-deadline=40s',
        '--leader-elect-retry-period=500ms',
      ],
    ];
    await create('waits', { spec: { schedulerName: 'second' } });
    const port = await freePort(0);
    await scheduler('second', ...flags, `--secure-port=${port}`);
    await lands('waits', 'fake-1');
    await showsItself(`https://127.0.0.1:${port}`);
    const holder = (): Promise<string> =>
      cluster.kubectl([
        'get',
        'lease',
        '-n',
        'kube-system',
        'second-scheduler',
        '-o',
        'jsonpath={.spec.holderIdentity}',
      ]);
    const first = await holder();
    const stopSecond = stops.pop();
    await scheduler('third', ...flags, '--secure-port=0');
    assert.equal(await holder(), first);
    await stopSecond?.();
    await create('later', { spec: { schedulerName: 'second' } });
    await lands('later', 'fake-1');
    assert.notEqual(await holder(), first);
  });

  /** Anyone may read the health; all other pages need permissions in the cluster. */
  const showsItself = async (url: string): Promise<void> => {
    await cluster.kubectl(['create', 'serviceaccount', 'scraper']);
    await cluster.kubectl(['create', 'clusterrole', 'scraper', '--verb=get', '--non-resource-url=/metrics']);
    await cluster.kubectl([
      ...['create', 'clusterrolebinding', 'scraper', '--clusterrole=scraper'],
      '--serviceaccount=default:scraper',
    ]);
    const token = (await cluster.kubectl(['create', 'token', 'scraper'])).trim();
    const get = async (path: string, bearer?: string): Promise<[string, string]> => {
      const header = bearer === undefined ? [] : ['-H', `Authorization: Bearer ${bearer}`];
      const { stdout } = await execute('curl', ['-sk', '-w', '\n%{http_code}', ...header, `${url}${path}`]);
      const end = stdout.lastIndexOf('\n');
      return [stdout.slice(end + 1), stdout.slice(0, end)];
    };
    assert.deepEqual(await get('/healthz'), ['200', 'ok']);
    assert.equal((await get('/metrics'))[0], '403');
    assert.equal((await get('/metrics', 'wrong'))[0], '401');
    const [status, metrics] = await get('/metrics', token);
    assert.equal(status, '200');
    assert.match(metrics, /scheduler_schedule_attempts_total\{profile="second",result="scheduled"\} 1/);
    assert.match(metrics, /leader_election_master_status\{name="second-scheduler"\} 1/);
    assert.equal((await get('/configz', token))[0], '403');
    await cluster.kubectl(['patch', 'clusterrole', 'scraper', '--type=json', '-p', JSON.stringify([allPaths])]);
    // The scheduler remembers a refusal for ten seconds.
    const [, configuration] = await eventually(async () => {
      const answer = await get('/configz', token);
      assert.equal(answer[0], '200');
      return answer;
    }, 20_000);
    assert.match(configuration, /"SchedulerName":"second"/);
  };

  it('reports errors in its files, and does not start', async () => {
    const failing = async (...args: readonly string[]): Promise<string> => {
      const child = spawn(await builtProgram('kubelet-scheduler'), args, { env: machineEnvironment() });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
      const code = await new Promise((resolve) => child.on('close', resolve));
      assert.notEqual(code, 0);
      return said;
    };
    writeFileSync(at('odd.json'), JSON.stringify({ kind: 'Policy', apiVersion: 'v1', predicates: [{ name: 'Odd' }] }));
    assert.match(await failing(`--policy-config-file=${at('odd.json')}`), /"Odd": there is no such predicate/);
    const gone = readFileSync(at('config.yaml'), 'utf8').replace('quiet-nodes', 'gone');
    writeFileSync(at('gone.yaml'), gone);
    assert.match(await failing(`--config=${at('gone.yaml')}`), /the module .\/gone.js cannot be loaded/);
    assert.match(await failing('--config=a', '--policy-config-file=b'), /exclude each other/);
  });
});

/** The code block between the marks of a page. */
function example(page: string, mark: string): string {
  const [, text] = new RegExp(`<!-- ${mark}:begin -->\n\`\`\`\\w+\n([^]*?)\`\`\``).exec(page) ?? [];
  assert.ok(text !== undefined, `docs/scheduler.md has no ${mark}`);
  return text;
}
