// Attachments that come late: `kubectl run -i --rm` of short commands, with the real kubectl, in containers of the real
// containerd.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { machineEnvironment } from '../../src/up/commands.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { kubectlHome } from '../e2e/support/cluster.ts';
import { eventually } from '../e2e/support/eventually.ts';
import type { ClusterFixture } from './support/cluster-agent.ts';
import { startClusterAgent } from './support/cluster-agent.ts';

let fixture: ClusterFixture & { stop(): Promise<void> };
const folder = mkdtempSync(join(tmpdir(), 'kts-attach-'));
before(async () => {
  const clusterFolder = join(folder, 'cluster');
  mkdirSync(clusterFolder);
  fixture = await startClusterAgent({
    name: 'attach',
    cluster: { folder: clusterFolder, flags: ['--kubelet-preferred-address-types=InternalIP'] },
    agent: {
      config: {
        address: '0.0.0.0',
        enableServer: true,
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: true },
          x509: { clientCAFile: join(clusterFolder, 'pki', 'ca.crt') },
        },
        authorization: { mode: 'Webhook' },
      },
    },
  });
});
after(async () => {
  await fixture?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The versions with SPDY only, with WebSockets, and the newest one, if the machine has them. */
const programs = [
  '/usr/lib/google-cloud-sdk/bin/kubectl.1.27',
  '/usr/lib/google-cloud-sdk/bin/kubectl.1.33',
  'kubectl',
].filter((each) => !each.startsWith('/') || existsSync(each));
/** By default one round for each program; more rounds are for finding rare faults. */
const ROUNDS = Number(process.env['KUBELET_TEST_ATTACH_ROUNDS'] ?? Math.max(2, programs.length));
const AT_ONCE = 4;
let made = 0;

interface Run {
  readonly command: readonly string[];
  readonly input?: string;
  readonly flags?: readonly string[];
  readonly onTerminal?: boolean;
}

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(program: string, words: readonly string[], onTerminal = false): ChildProcess {
  const all = [
    program,
    `--server=https://127.0.0.1:${fixture.cluster.port}`,
    `--kubeconfig=${fixture.cluster.kubeconfig}`,
    ...words,
  ];
  const quoted = all.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const [file = '', ...args] = onTerminal ? ['script', '-qec', quoted, '/dev/null'] : all;
  return spawn(file, args, { stdio: 'pipe', timeout: 60_000, env: { ...machineEnvironment(), HOME: kubectlHome } });
}

function runWords({ command, flags = [], onTerminal = false }: Run): readonly string[] {
  const name = `run-${(made += 1)}`;
  return [
    'run',
    onTerminal ? '-it' : '-i',
    '--rm',
    name,
    `--image=${WEB_IMAGE}`,
    '--image-pull-policy=IfNotPresent',
    ...flags,
    '--',
    ...command,
  ];
}

/** The output of the container, without kubectl's own messages. */
async function outcome(child: ChildProcess, input: string | undefined, onTerminal: boolean): Promise<Result> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin?.on('error', () => undefined);
  // The end of a terminal's input would end it.
  if (!onTerminal) child.stdin?.end(input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  const own =
    /^(pod "[^"]+" deleted|If you don't see a command prompt|All commands and output from this session|pod default\/\S+ terminated|Session ended)/;
  const without = (text: string): string =>
    text
      .replaceAll('\r\n', '\n')
      .split(/(?<=\n)/)
      .filter((line) => !own.test(line))
      .join('');
  return { code, stdout: without(stdout), stderr: without(stderr).trim() };
}

async function rounds(run: Run, expected: Result): Promise<void> {
  let round = 0;
  const worker = async (): Promise<void> => {
    while (round < ROUNDS) {
      const program = programs[round % programs.length] ?? 'kubectl';
      round += 1;
      const result = await outcome(start(program, runWords(run), run.onTerminal), run.input, run.onTerminal === true);
      const shown = {
        ...result,
        stdout: result.stdout.length > 1000 ? `${result.stdout.length} bytes` : result.stdout,
      };
      assert.deepEqual(shown, expected, `${program}, round ${round}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const NEVER = ['--restart=Never'];
const hi: Result = { code: 0, stdout: 'hi\n', stderr: '' };

test('a command that is over at once says its word once', () => rounds({ command: ['echo', 'hi'], flags: NEVER }, hi));

/** kubectl waits until it sees the pod ready, which may never happen for a shorter command. */
test('the same where it is started again and again, as kubectl run asks for by default', () =>
  rounds({ command: ['sh', '-c', 'echo hi; sleep 0.5'] }, hi));

test('a megabyte comes whole, whether the client came before its end or after', () =>
  rounds(
    { command: ['sh', '-c', 'yes 0123456789abcde | head -c 1048576; sleep 0.3'], flags: NEVER },
    { code: 0, stdout: '1048576 bytes', stderr: '' },
  ));

test('input goes in, and comes out once', () =>
  rounds({ command: ['cat'], input: 'abc\n', flags: NEVER }, { code: 0, stdout: 'abc\n', stderr: '' }));

test('a command on a terminal says its word once', () =>
  rounds({ command: ['sh', '-c', 'echo hi'], flags: NEVER, onTerminal: true }, hi));

test('how a command failed is the exit code of kubectl', () =>
  rounds({ command: ['sh', '-c', 'echo hi; exit 3'], flags: NEVER }, { ...hi, code: 3 }));

test('output from before and after the client attaches arrives once and in order', () =>
  rounds({ command: ['sh', '-c', 'echo one; sleep 1; echo hi'], flags: NEVER }, { ...hi, stdout: 'one\nhi\n' }));

test('a shell on a terminal responds, and a new client does not get old output', async () => {
  for (const program of programs) {
    const shell = start(program, runWords({ command: ['sh'], flags: NEVER, onTerminal: true }), true);
    let out = '';
    shell.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
    await eventually(async () => {
      shell.stdin?.write('\n');
      await new Promise((resolve) => setTimeout(resolve, 200));
      assert.match(out, /[#$] /);
    });
    shell.stdin?.write('echo "got-$((40+2))"\n');
    await eventually(async () => assert.match(out, /got-42/));
    shell.stdin?.write('exit\n');
    const [code] = (await once(shell, 'close')) as [number | null];
    assert.deepEqual([code, out.split('got-42').length], [0, 2], out);
  }
});

test('a question without a newline is seen before it is answered', async () => {
  const asking = start(
    'kubectl',
    runWords({
      command: ['sh', '-c', 'echo ready; sleep 2; printf "name: "; read name; echo "hello $name"'],
      flags: NEVER,
    }),
  );
  let out = '';
  asking.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  await eventually(async () => assert.equal(out, 'ready\nname: '), 20_000);
  asking.stdin?.end('bob\n');
  const [code] = (await once(asking, 'close')) as [number | null];
  assert.deepEqual([code, out.replace(/pod ".*\n/, '')], [0, 'ready\nname: hello bob\n']);
});

test('kubectl debug of a node shows what its container wrote before it was attached to', async () => {
  const { stdout, stderr } = await outcome(
    start('kubectl', [
      'debug',
      'node/node',
      '-i',
      `--image=${WEB_IMAGE}`,
      '--image-pull-policy=IfNotPresent',
      '--',
      'echo',
      'hi',
    ]),
    undefined,
    false,
  );
  assert.match(stdout, /^(Creating debugging pod .*\n)?hi\n$/, stderr);
  assert.doesNotMatch(stderr, /couldn't attach/);
});
