// `down --purge` next to another kubelet and another container engine: what they created still exists, and what `up`
// created does not.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findHierarchies } from '../../src/up/cgroups.ts';
import { machineEnvironment, runCommand, tryCommand } from '../../src/up/commands.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import type { Instance } from '../../src/up/instance.ts';
import { deriveInstance } from '../../src/up/instance.ts';
import { isAlive, readProcessFile } from '../../src/up/processes.ts';
import { findLeftovers } from '../../src/up/teardown.ts';
import { mountPointsBelow } from './support/mount-points.ts';
import { builtUp } from './support/agent-build.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kts-neighbours-')));
const instanceOf = (name: string): Instance => deriveInstance(join(folder, name));
let program: readonly string[] = [];
/** Holds network and mount namespaces that no other process of this machine has. */
let holder: ChildProcess;

/** Files that kubelets and engines share are empty there; cgroups are those of the machine. */
const HOLDER = `
set -e
mount --make-rprivate /
mkdir -p "$1/cgroups"
mount --rbind /sys/fs/cgroup "$1/cgroups"
mount -t sysfs sysfs /sys
mount --rbind "$1/cgroups" /sys/fs/cgroup
umount -l "$1/cgroups"
for path in /var/lib /var/log /run /mnt; do mount -t tmpfs -o mode=755 kts "$path"; done
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
echo ready
exec sleep 100000
`;

interface Result {
  readonly status: number | null;
  readonly output: string;
}

const inside = (...command: readonly string[]): string[] => [
  'nsenter',
  '-t',
  String(holder.pid),
  '-m',
  '-n',
  ...command,
];
/** The path from here of a file in those namespaces. */
const theirs = (path: string): string => `/proc/${holder.pid}/root${path}`;

async function run(...args: string[]): Promise<Result> {
  const [command = '', ...rest] = inside(process.execPath, ...program, ...args);
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: machineEnvironment(),
    timeout: 120_000,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, output };
}

/** Starts one pod with a host port, so that the plugins' shared chains are used. */
async function up(instance: Instance, hostPort: number): Promise<void> {
  mkdirSync(theirs(instance.manifestsDir), { recursive: true });
  const spec = {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'web',
        image: WEB_IMAGE,
        imagePullPolicy: 'IfNotPresent',
        command: ['sleep', '1000'],
        ports: [{ containerPort: 80, hostPort }],
      },
    ],
  };
  writeFileSync(
    theirs(join(instance.manifestsDir, 'web.yaml')),
    JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec }),
  );
  const { status, output } = await run('up', '--standalone', '--detach', '--data', instance.dataDir);
  assert.equal(status, 0, output);
}

async function purge(instance: Instance): Promise<Result> {
  const result = await run('down', '--purge', '--data', instance.dataDir);
  assert.equal(result.status, 0, result.output);
  assert.deepEqual(await findLeftovers(instance), []);
  return result;
}

const TABLES = ['mangle', 'nat', 'filter'];
const POD_OF_OTHERS = `kubepods/burstable/podkts${process.pid}`;

/** All state of the machine that several kubelets and engines share. */
async function machine(): Promise<string[]> {
  const rules = await Promise.all(
    ['iptables', 'ip6tables'].flatMap((name) =>
      TABLES.map(async (table) =>
        (await runCommand(inside(name, '-w', '10', '-t', table, '-S')))
          .split('\n')
          .filter(Boolean)
          .map((line) => `${name} ${table} ${line}`),
      ),
    ),
  );
  const groups = hierarchies().flatMap((mount) =>
    globSync([POD_OF_OTHERS, ...['first', 'second', 'alone'].map((name) => instanceOf(name).cgroupRoot.slice(1))], {
      cwd: mount,
    }).map((path) => `cgroup ${join(mount, path)}`),
  );
  const links = (await runCommand(inside('ip', '-o', 'link')))
    .split('\n')
    .map((line) => `link ${line.split(/[:@]/)[1] ?? ''}`);
  const files = ['/var/lib', '/var/log/pods', '/run/kubelet-ts'].flatMap((top) =>
    globSync('**', { cwd: theirs(top) }).map((path) => join(top, path)),
  );
  return [
    ...rules.flat(),
    ...groups,
    ...links,
    ...files.filter((path) => !path.startsWith('/run/kubelet-ts/lock')),
  ].sort();
}

const hierarchies = (): string[] => Object.values(findHierarchies()).flat();

/** The rules that upstream's kubelet and another engine with the same plugins leave on a machine. */
const RULES_OF_OTHERS: readonly (readonly string[])[] = [
  ...['iptables', 'ip6tables'].flatMap((name) => [
    ...TABLES.map((table) => [name, '-t', table, '-N', 'KUBE-KUBELET-CANARY']),
    [name, '-t', 'mangle', '-N', 'KUBE-IPTABLES-HINT'],
  ]),
  ['iptables', '-t', 'filter', '-N', 'KUBE-FIREWALL'],
  ['iptables', '-t', 'filter', '-A', 'INPUT', '-j', 'KUBE-FIREWALL'],
  ['iptables', '-t', 'filter', '-A', 'OUTPUT', '-j', 'KUBE-FIREWALL'],
  [
    'iptables',
    '-t',
    'filter',
    '-A',
    'KUBE-FIREWALL',
    '!',
    '-s',
    '127.0.0.0/8',
    '-d',
    '127.0.0.0/8',
    '-m',
    'comment',
    '--comment',
    'block incoming localnet connections',
    '-m',
    'conntrack',
    '!',
    '--ctstate',
    'RELATED,ESTABLISHED,DNAT',
    '-j',
    'DROP',
  ],
  ['iptables', '-t', 'nat', '-N', 'CNI-HOSTPORT-SETMARK'],
  [
    'iptables',
    '-t',
    'nat',
    '-A',
    'CNI-HOSTPORT-SETMARK',
    '-m',
    'comment',
    '--comment',
    'CNI portfwd masquerade mark',
    '-j',
    'MARK',
    '--set-xmark',
    '0x2000/0x2000',
  ],
  ['iptables', '-t', 'nat', '-N', 'CNI-HOSTPORT-MASQ'],
  ['iptables', '-t', 'nat', '-A', 'CNI-HOSTPORT-MASQ', '-m', 'mark', '--mark', '0x2000/0x2000', '-j', 'MASQUERADE'],
  [
    'iptables',
    '-t',
    'nat',
    '-A',
    'POSTROUTING',
    '-m',
    'comment',
    '--comment',
    'CNI portfwd requiring masquerade',
    '-j',
    'CNI-HOSTPORT-MASQ',
  ],
  ['iptables', '-t', 'nat', '-N', 'CNI-HOSTPORT-DNAT'],
  ...['PREROUTING', 'OUTPUT'].map((chain) => [
    'iptables',
    '-t',
    'nat',
    '-A',
    chain,
    '-m',
    'addrtype',
    '--dst-type',
    'LOCAL',
    '-j',
    'CNI-HOSTPORT-DNAT',
  ]),
];
const FILES_OF_OTHERS = [
  '/var/lib/cni/networks/other/10.99.0.2',
  '/var/lib/cni/results/other-0123-eth0',
  '/var/lib/kubelet/pods/uid/volume',
  '/var/lib/kubelet/pki/kubelet.key',
  '/var/log/pods/ns_other_uid/0.log',
];

async function settleOthers(): Promise<void> {
  for (const command of RULES_OF_OTHERS) await runCommand(inside(...command));
  for (const path of FILES_OF_OTHERS) {
    mkdirSync(theirs(dirname(path)), { recursive: true });
    writeFileSync(theirs(path), 'other\n');
  }
  for (const mount of hierarchies()) mkdirSync(join(mount, POD_OF_OTHERS), { recursive: true });
}

async function removeOthers(): Promise<void> {
  for (const name of ['iptables', 'ip6tables'])
    for (const table of TABLES) for (const verb of ['-F', '-X']) await tryCommand(inside(name, '-t', table, verb));
  for (const top of ['cni', 'kubelet']) rmSync(theirs(`/var/lib/${top}`), { recursive: true, force: true });
  for (const mount of hierarchies()) {
    rmdirSync(join(mount, POD_OF_OTHERS));
    // Those above may be another's.
    for (const path of ['kubepods/burstable', 'kubepods']) await tryCommand(['rmdir', join(mount, path)]);
  }
}

before(async () => {
  program = await builtUp();
  holder = spawn('unshare', ['-m', '-n', 'sh', '-c', HOLDER, 'sh', folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    holder.stdout?.once('data', () => resolve());
    holder.once('exit', () => reject(new Error('no network and files of its own')));
  });
});

after(async () => {
  const ended = once(holder, 'exit');
  holder.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

describe('down --purge', () => {
  it('leaves what another kubelet and another engine had made before, when two instances have come and gone', async () => {
    const [first, second] = [instanceOf('first'), instanceOf('second')];
    await settleOthers();
    try {
      const then = await machine();
      await up(first, 18_081);
      await up(second, 18_082);
      assert.ok(
        (await machine()).some((line) => line.includes('name: \\"kubelet-ts-')),
        'the plugins use the shared chains',
      );
      await purge(first);
      await purge(second);
      assert.deepEqual(await machine(), then);
      assert.ok(FILES_OF_OTHERS.every((path) => readFileSync(theirs(path), 'utf8') === 'other\n'));
      assert.deepEqual(
        [first, second].map(({ dataDir }) => existsSync(dataDir)),
        [false, false],
      );
    } finally {
      await Promise.all([first, second].map((each) => run('down', '--purge', '--data', each.dataDir)));
      await removeOthers();
    }
  });

  it('removes all of it where there was no other kubelet; a kubelet in another network does not count', async () => {
    const instance = instanceOf('alone');
    const elsewhere = spawn('sleep', ['1000'], { stdio: 'ignore', argv0: '/usr/bin/kubelet' });
    const then = await machine();
    try {
      await up(instance, 18_083);
      const now = (await machine()).join('\n');
      for (const made of [
        'iptables filter -N KUBE-FIREWALL',
        'ip6tables mangle -N KUBE-KUBELET-CANARY',
        'iptables nat -N CNI-HOSTPORT-DNAT',
        '/var/lib/cni/results',
        instance.cgroupRoot,
      ])
        assert.ok(now.includes(made), made);
    } finally {
      elsewhere.kill('SIGKILL');
      await purge(instance);
    }
    assert.deepEqual(await machine(), then);
  });

  it('leaves the chains to a kubelet that came later', async () => {
    const instance = instanceOf('earlier');
    const [command = '', ...args] = inside('bash', '-c', 'exec -a /usr/bin/kubelet sleep 1000');
    const kubelet = spawn(command, args, { stdio: 'ignore' });
    const chains = async (): Promise<string[]> => (await machine()).filter((line) => /KUBE-/.test(line));
    try {
      await up(instance, 18_084);
      const then = await chains();
      assert.ok(then.length > 5);
      await purge(instance);
      assert.deepEqual(await chains(), then);
    } finally {
      kubelet.kill('SIGKILL');
    }
  });

  it('leaves a file that is not of up in the data folder, and what was mounted there before, the folder itself too', async () => {
    const instance = deriveInstance('/mnt/disk');
    const mounts = [instance.dataDir, join(instance.dataDir, 'containerd')];
    for (const path of mounts) {
      mkdirSync(theirs(path), { recursive: true });
      await runCommand(inside('mount', '-t', 'tmpfs', '-o', 'mode=755', 'kts-disk', path));
    }
    writeFileSync(theirs(join(instance.dataDir, '.kubelet-ts')), '');
    writeFileSync(theirs(join(instance.dataDir, 'notes.txt')), 'mine\n');
    await up(instance, 18_085);
    const { status, output } = await run('down', '--purge', '--data', instance.dataDir);
    assert.deepEqual([status, /not created by up, keeping: .*notes\.txt/.test(output)], [0, true], output);
    assert.equal(readFileSync(theirs(join(instance.dataDir, 'notes.txt')), 'utf8'), 'mine\n');
    const points = mountPointsBelow('/mnt/disk', holder.pid);
    assert.deepEqual(points, mounts);
  });

  it('changes no folder that up did not create, and signals no process named in a folder of another user', async () => {
    const [strange, prepared] = [instanceOf('strange'), instanceOf('prepared')];
    const victim = spawn('sleep', ['1000'], { stdio: 'ignore' });
    try {
      mkdirSync(join(strange.dataDir, 'containerd'), { recursive: true });
      mkdirSync(join(strange.dataDir, 'apt'));
      for (const command of [['up', '--standalone', '--detach'], ['down', '--purge'], ['status']]) {
        const { status, output } = await run(...command, '--data', strange.dataDir);
        assert.deepEqual([status, /was not made by up/.test(output)], [1, true], output);
      }
      assert.ok(existsSync(join(strange.dataDir, 'containerd')));
      mkdirSync(prepared.runDir, { recursive: true });
      writeFileSync(join(prepared.dataDir, '.kubelet-ts'), '');
      const [, ticks = ''] =
        /^\d+ \(.*\)(?: \S+){19} (\d+)/.exec(readFileSync(`/proc/${victim.pid}/stat`, 'utf8')) ?? [];
      const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
      writeFileSync(
        join(prepared.runDir, 'control-plane.json'),
        JSON.stringify({ pid: victim.pid, startTicks: ticks, bootId }),
      );
      assert.ok(isAlive(readProcessFile(join(prepared.runDir, 'control-plane.json'))), 'the record names the process');
      await runCommand(['chown', '65534', prepared.dataDir]);
      for (const command of [['up', '--standalone', '--detach'], ['down', '--purge'], ['status']]) {
        const { status, output } = await run(...command, '--data', prepared.dataDir);
        assert.deepEqual([status, /can be changed by others/.test(output)], [1, true], output);
      }
      assert.deepEqual([victim.exitCode, victim.signalCode], [null, null]);
      await runCommand(['chown', '0', prepared.dataDir]);
      await runCommand(['chmod', '0777', prepared.dataDir]);
      const { status, output } = await run('down', '--purge', '--data', prepared.dataDir);
      assert.deepEqual([status, output.includes(`chmod go-w ${prepared.dataDir}`)], [1, true], output);
    } finally {
      victim.kill('SIGKILL');
    }
  });

  it('follows no link that leads out of the data folder', async () => {
    const instance = instanceOf('links');
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'kept'), '');
    mkdirSync(instance.dataDir);
    writeFileSync(join(instance.dataDir, '.kubelet-ts'), '');
    for (const name of ['logs', 'registry', 'containerd']) symlinkSync(outside, join(instance.dataDir, name));
    await purge(instance);
    assert.deepEqual([existsSync(join(outside, 'kept')), existsSync(instance.dataDir)], [true, false]);
  });
});
