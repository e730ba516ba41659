import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import type { CommandName } from '../flags/flags-commands.ts';
import { commands } from '../flags/flags-commands.ts';
import { parseCommandLine } from './command-line.ts';
import { pick } from './commands.ts';

function parse(name: CommandName, ...args: string[]) {
  const spec = commands.find((candidate) => candidate.name === name);
  assert.ok(spec);
  return parseCommandLine(spec, args);
}
const refused = (needle: RegExp) => (error: unknown) =>
  isKind(error, 'Invalid') && needle.test((error as Error).message);

describe('the line of a command', () => {
  it('takes flags before and after names, short and long, with = and without', () => {
    const line = parse('logs', '-f', 'web', '--tail=5', '-c', 'main', '--since', '10m');
    assert.deepEqual(
      [line.positionals, line.values['tail'], line.values['container'], line.values['since'], [...line.given]],
      [['web'], '5', 'main', '10m', ['follow']],
    );
  });

  it('passes everything after -- to the command, flags included', () => {
    const line = parse('exec', '-it', 'web', '--', 'ls', '-l', '--', 'x');
    assert.deepEqual(
      [line.positionals, line.rest, line.given.has('stdin'), line.given.has('tty')],
      [['web'], ['ls', '-l', '--', 'x'], true, true],
    );
  });

  it('refuses what it does not know, and says where help is', () => {
    assert.throws(() => parse('pods', '--no-such'), refused(/--no-such[\s\S]*See 'kubelet pods --help'/));
    assert.throws(
      () => parse('pods', '-o', 'xml'),
      refused(/--output: "xml" is not accepted; it takes text or json or name/),
    );
    assert.throws(() => parse('logs', 'web', '--tail'), refused(/--tail/));
    assert.throws(() => parse('pods', 'web'), refused(/unexpected argument "web"; usage: kubelet pods \[flags\]/));
    assert.throws(
      () => parse('exec', 'web', 'ls'),
      refused(/unexpected argument "ls"; usage: kubelet exec POD \[flags\] -- COMMAND/),
    );
  });
});

describe('choosing a pod by name', () => {
  const pods = [
    { name: 'web-node', namespace: 'default' },
    { name: 'web', namespace: 'other' },
    { name: 'db-node', namespace: 'default' },
    { name: 'db-node', namespace: 'other' },
  ];
  const choose = (name: string, namespace?: string) => pick(pods, { name, namespace }, (pod) => pod);

  it("prefers the exact name, then a static pod's name without the node's", () => {
    assert.deepEqual(
      [choose('web'), choose('web', 'default'), choose('default/web'), choose('other/db')],
      [pods[1], pods[0], pods[0], pods[3]],
    );
  });

  it('says what there is when none fits, and which fit when several do', () => {
    assert.throws(
      () => choose('nothing'),
      (error) => isKind(error, 'NotFound') && /default\/web-node/.test((error as Error).message),
    );
    assert.throws(() => choose('db'), refused(/default\/db-node, other\/db-node/));
    assert.throws(() => pick([], { name: 'x', namespace: undefined }, () => ({})), /there are none/);
  });
});
