import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { DEFAULT_DATA_DIR } from './instance.ts';
import { repositoryRoot } from './places.ts';
import { parseCommandLine, usageOf } from './options.ts';

describe('the command line of up', () => {
  it('a cluster in the default place needs no flags', () => {
    const line = parseCommandLine(['up'], {});
    const { command, mode, dataDir, example, dns, serviceRouting, networkPolicy, storage, detach, agentArgs } = line;
    assert.deepEqual(
      [command, mode, dataDir, example, dns, serviceRouting, networkPolicy, storage, detach, agentArgs],
      ['up', 'cluster', DEFAULT_DATA_DIR, true, true, true, true, true, false, []],
    );
  });

  it('parts can be left out, and flags of the agent are passed on', () => {
    const { dns, serviceRouting, networkPolicy, storage, example, agentArgs, nodeName } = parseCommandLine(
      [
        'up',
        '--no-storage',
        '--no-dns',
        '--no-service-routing',
        '--no-network-policy',
        '--no-example',
        '--node-name',
        'Worker',
        '--node-labels',
        'a=b',
        '--kubelet-arg=--v=4',
        '--kubelet-arg=--max-pods=5',
      ],
      {},
    );
    assert.deepEqual(
      [dns, serviceRouting, networkPolicy, storage, example, agentArgs, nodeName],
      [false, false, false, false, false, ['--node-labels', 'a=b', '--v=4', '--max-pods=5'], 'worker'],
    );
  });

  it('flags of the control plane are passed on', () => {
    const { controlPlaneArgs } = parseCommandLine(
      ['up', '--control-plane-arg=--v=2', '--control-plane-arg=--client-qps=5'],
      {},
    );
    assert.deepEqual(controlPlaneArgs, ['--v=2', '--client-qps=5']);
  });

  it('the environment can set the folder, and the flag overrides it', () => {
    assert.equal(parseCommandLine(['up'], { KUBELET_TS_DATA: '/a' }).dataDir, '/a');
    assert.equal(parseCommandLine(['up', '--data', '/b'], { KUBELET_TS_DATA: '/a' }).dataDir, '/b');
  });

  const hash = `sha256:${'0'.repeat(64)}`;
  const token = 'abcdef.0123456789abcdef';

  it('a cluster that others can join has an address, and a joining machine has that address, a token and a hash', () => {
    assert.equal(parseCommandLine(['up', '--listen', '192.0.2.1'], {}).listen?.join(), '192.0.2.1');
    const args = ['--join', '192.0.2.1:6443', '--token', token, '--discovery-token-ca-cert-hash', hash];
    const { joinToken, joinConfig, mode } = parseCommandLine(['up', ...args], {});
    assert.deepEqual(
      [joinToken, joinConfig, mode],
      [{ host: '192.0.2.1:6443', token, caHash: hash }, undefined, 'join'],
    );
    assert.equal(parseCommandLine(['up', '--token-ttl', '2h'], {}).tokenLifeMs, 7_200_000);
  });

  it('a machine that also runs an API server has the key of the share, and may add flags', () => {
    const args = ['--join', '192.0.2.1:6443', '--token', token, '--discovery-token-ca-cert-hash', hash];
    const key = 'a0'.repeat(32);
    const more = ['--join-control-plane', '--certificate-key', key, '--control-plane-arg=--v=2'];
    const { joinControlPlane, certificateKey, controlPlaneArgs } = parseCommandLine(['up', ...args, ...more], {});
    assert.deepEqual([joinControlPlane, certificateKey, controlPlaneArgs], [true, key, ['--v=2']]);
    const print = parseCommandLine(['up', '--print-join-command', '--join-control-plane'], {});
    assert.deepEqual([print.joinControlPlane, print.printJoinCommand, print.certificateKey], [true, true, undefined]);
  });

  it('a cluster has one IP family or both, and other machines reach it by an address of each', () => {
    assert.equal(parseCommandLine(['up'], {}).ipFamily, undefined);
    const both = parseCommandLine(['up', '--ip-family', 'dual', '--listen', '2001:DB8::1,192.0.2.1'], {});
    assert.deepEqual([both.ipFamily, both.listen], ['dual', ['192.0.2.1', '2001:db8::1']]);
    const six = ['--join', '[2001:db8::1]:6443', '--token', token, '--discovery-token-ca-cert-hash', hash];
    assert.equal(parseCommandLine(['up', ...six], {}).joinToken?.host, '[2001:db8::1]:6443');
    const refused: readonly (readonly [args: readonly string[], says: RegExp])[] = [
      [['--ip-family', 'ipv5'], /ipv4, ipv6, dual/],
      [['--ip-family', 'dual', '--standalone'], /--standalone/],
      [['--ip-family', 'dual', '--listen', '192.0.2.1'], /needs an IPv6 address/],
      [['--ip-family', 'ipv6', '--listen', '192.0.2.1'], /needs an IPv6 address/],
      [['--listen', '2001:db8::1'], /needs an IPv4 address/],
      [['--listen', '192.0.2.1,2001:db8::1'], /start it with --ip-family dual/],
      [['--ip-family', 'dual', '--listen', '192.0.2.1,192.0.2.2'], /two addresses of IPv4/],
      [['--ip-family', 'ipv6', '--listen', 'fe80::1'], /one of each IP family/],
    ];
    for (const [args, says] of refused) assert.throws(() => parseCommandLine(['up', ...args], {}), says);
  });

  for (const args of [
    ['--listen', '0.0.0.0'],
    ['--listen', 'here'],
    ['--listen', '192.0.2.1', '--nodes', '2'],
    ['--listen', '192.0.2.1', '--standalone'],
    ['--token', token],
    ['--join', 'file', '--token', token, '--discovery-token-ca-cert-hash', hash],
    ['--join', '192.0.2.1:6443', '--token', token],
    ['--join', '192.0.2.1:6443', '--token', 'short', '--discovery-token-ca-cert-hash', hash],
    ['--token-ttl', 'soon'],
    ['--join-control-plane'],
    ['--join-control-plane', '--join', 'k'],
    ['--certificate-key', 'a0'.repeat(32)],
    ['--print-join-command', '--join-control-plane', '--certificate-key', 'short'],
    ['--standalone', '--join', 'k'],
    ['--standalone', '--runtime-only'],
    ['--cgroup-driver', 'x'],
    ['--join', 'k', '--control-plane-arg=--v=2'],
    ['--nonsense'],
  ]) {
    it(`${args.join(' ')} is refused as a usage error`, () => {
      assert.throws(
        () => parseCommandLine(['up', ...args], {}),
        (error) => error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'),
      );
    });
  }
});

describe('the command line of down', () => {
  it('--help prints the usage of down, and needs neither root nor a set-up', () => {
    const { status, stdout } = spawnSync('sh', ['scripts/down.sh', '--help'], {
      cwd: repositoryRoot,
      encoding: 'utf8',
    });
    assert.deepEqual([status, stdout.split('\n')[0]], [0, 'usage: npm run down -- [--data DIR] [--purge]']);
    assert.doesNotMatch(stdout, /--detach|--join|npm run up/);
  });

  it('each command has its own usage, which a mistyped flag prints', () => {
    assert.match(usageOf('up'), /^usage: npm run up /);
    assert.doesNotMatch(usageOf('up'), /--purge/);
    assert.match(usageOf('status'), /status \[--data DIR\]/);
    for (const command of ['up', 'down', 'status']) assert.ok(usageOf(undefined).includes(usageOf(command)));
  });

  it('down accepts only its own flags, and up only its own', () => {
    const { command, purge, dataDir } = parseCommandLine(['down', '--data', '/d', '--purge'], {});
    assert.deepEqual([command, purge, dataDir], ['down', true, '/d']);
    for (const args of [
      ['down', '--detach'],
      ['down', '--join', 'k'],
      ['status', '--purge'],
      ['up', '--purge'],
      ['down', 'other'],
    ]) {
      assert.throws(
        () => parseCommandLine(args, {}),
        (error) => error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'),
        args.join(' '),
      );
    }
  });
});
