// What `makeIPTablesUtilChains` does, with the real iptables, in networks of the test's own.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { linuxIptables } from '../../../src/kubelet/adapters/net/linux-iptables.ts';
import { linuxProcesses } from '../../../src/kubelet/adapters/process/linux-processes.ts';
import { IptablesHints } from '../../../src/kubelet/features/iptables-hints/iptables-hints.ts';
import { machineEnvironment, runCommand, tryCommand } from '../../../src/up/commands.ts';
import { eventually } from '../../e2e/support/eventually.ts';

const [node, neighbour] = [`kts-hint-a-${process.pid}`, `kts-hint-b-${process.pid}`];
const inside = (name: string, argv: readonly string[]): string[] => ['ip', 'netns', 'exec', name, ...argv];
let server: ChildProcess | undefined;
let port = 0;

before(async () => {
  for (const name of [node, neighbour]) await runCommand(['ip', 'netns', 'add', name]);
  await runCommand(['ip', '-n', node, 'link', 'add', 'a0', 'type', 'veth', 'peer', 'name', 'b0', 'netns', neighbour]);
  for (const [name, link, address] of [
    [node, 'a0', '10.99.0.1/24'],
    [neighbour, 'b0', '10.99.0.2/24'],
  ] as const) {
    await runCommand(['ip', '-n', name, 'addr', 'add', address, 'dev', link]);
    await runCommand(['ip', '-n', name, 'link', 'set', link, 'up']);
    // As kube-proxy leaves it.
    await runCommand(inside(name, ['tee', '/proc/sys/net/ipv4/conf/all/route_localnet']), Buffer.from('1'));
  }
  await runCommand(['ip', '-n', node, 'link', 'set', 'lo', 'up']);
  await runCommand(['ip', '-n', neighbour, 'route', 'add', '127.0.0.1/32', 'via', '10.99.0.1']);
  const program =
    "const s=require('net').createServer((c)=>c.end('secret')).listen(0,'127.0.0.1',()=>console.log(s.address().port))";
  const [command = '', ...args] = inside(node, [process.execPath, '-e', program]);
  server = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env: machineEnvironment() });
  assert.ok(server.stdout !== null);
  const [said] = (await once(server.stdout, 'data')) as [Buffer];
  port = Number(said.toString());
});
after(async () => {
  server?.kill('SIGKILL');
  for (const name of [node, neighbour]) await tryCommand(['ip', 'netns', 'del', name]);
});

/** What a machine receives from the server on the node's loopback address. */
async function heard(from: string): Promise<string> {
  const program = `require('net').connect(${port},'127.0.0.1').on('data',(d)=>process.stdout.write(d)).on('error',()=>process.exit()).setTimeout(700,()=>process.exit())`;
  return (await tryCommand(inside(from, [process.execPath, '-e', program]))).stdout;
}

const rules = async (table: string): Promise<string> =>
  runCommand(inside(node, ['iptables', '-w', '5', '-t', table, '-S']));

test('a neighbour of the node cannot reach its loopback address (CVE-2020-8558), but the node can', async () => {
  assert.equal(await heard(neighbour), 'secret', 'without the rule the attack works here');
  const start = (): IptablesHints =>
    new IptablesHints({
      families: linuxIptables(linuxProcesses, inside(node, [])),
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    });
  for (let round = 0; round < 2; round += 1) {
    const hints = start();
    hints.start();
    await eventually(async () => assert.match(await rules('filter'), /-N KUBE-KUBELET-CANARY/));
    await hints.stop();
  }
  assert.deepEqual(await Promise.all([heard(neighbour), heard(node)]), ['', 'secret']);
  const filter = (await rules('filter')).split('\n').filter((line) => line.startsWith('-A'));
  assert.deepEqual(filter.slice(0, 2), ['-A INPUT -j KUBE-FIREWALL', '-A OUTPUT -j KUBE-FIREWALL']);
  assert.match(
    filter[2] ?? '',
    /^-A KUBE-FIREWALL ! -s 127\.0\.0\.0\/8 -d 127\.0\.0\.0\/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP$/,
  );
  assert.equal(filter.length, 3, 'once, however often it was started');
  assert.match(await rules('mangle'), /-N KUBE-IPTABLES-HINT\n-N KUBE-KUBELET-CANARY/);
});
