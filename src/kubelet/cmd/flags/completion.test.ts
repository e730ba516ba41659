import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { completionScript, shells } from './completion.ts';
import { agentFlags } from './flags-agent.ts';
import { commands } from './flags-commands.ts';
import { configFlags } from './flags-config.ts';
import { commandHelpText, helpText } from './flags-help.ts';
import { rawVersion, versionLine } from './flags-version.ts';

const bashReply = (words: readonly string[]): string[] => {
  const script = `${completionScript('bash')}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _kubelet; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  assert.equal(run.stderr, '');
  return run.stdout.split('\n').filter((line) => line !== '');
};

test('bash accepts the script', () => {
  const run = spawnSync('bash', ['-n'], { input: completionScript('bash'), encoding: 'utf8' });
  assert.deepEqual([run.status, run.stderr], [0, '']);
});

test('bash completes commands, flags of the agent, flags of a command, and closed sets of values', () => {
  assert.deepEqual(bashReply(['kubelet', 'e']), ['explain', 'events', 'exec', 'evict']);
  assert.deepEqual(bashReply(['kubelet', '--config']), ['--config', '--config-dir']);
  assert.deepEqual(bashReply(['kubelet', 'logs', '--t']), ['--tail', '--timestamps']);
  assert.deepEqual(bashReply(['kubelet', '--hairpin-mode', '']), ['promiscuous-bridge', 'hairpin-veth', 'none']);
  assert.deepEqual(bashReply(['kubelet', '--cgroup-driver', '=', 's']), ['systemd']);
  assert.deepEqual(bashReply(['kubelet', 'completion', '']), [...shells]);
});

test('every shell gets every command and every flag that has an effect', () => {
  const flags = [...agentFlags, ...configFlags].filter(({ ignored }) => ignored !== true);
  for (const shell of shells) {
    const script = completionScript(shell);
    const missing = [...commands.map(({ name }) => name), ...flags.map(({ name }) => name)].filter(
      (name) => !script.includes(name),
    );
    assert.deepEqual(missing, [], shell);
  }
});

test('quotes in zsh and fish scripts are balanced', () => {
  for (const shell of ['zsh', 'fish'] as const) {
    const open = completionScript(shell)
      .split('\n')
      .filter((line) => line.replaceAll("'\\''", '').replaceAll("\\'", '').split("'").length % 2 === 0);
    assert.deepEqual(open, [], shell);
  }
});

test('help names every flag and command, and the defaults without a file', () => {
  const help = helpText();
  const missing = [...agentFlags, ...configFlags]
    .filter(({ name }) => !help.includes(`--${name}`))
    .map(({ name }) => name);
  assert.deepEqual(missing, []);
  assert.match(help, /--read-only-port NUMBER\n +[^-]*\(default 10255\)/);
  assert.match(help, /--anonymous-auth\n[^-]*\(default true\)/);
  for (const command of commands) assert.ok(help.includes(`kubelet ${command.name}`), command.name);
  assert.deepEqual(
    help.split('\n').filter((line) => line.length > 140),
    [],
  );
});

test('each command explains its flags', () => {
  const logs = commands.find(({ name }) => name === 'logs');
  assert.ok(logs !== undefined);
  assert.match(commandHelpText(logs), /Usage:\n {2}kubelet logs POD \[flags\]\n\nFlags:\n {2}-c, --container NAME\n/);
});

test('versions are printed as upstream prints them', () => {
  assert.equal(versionLine(), 'Kubernetes v1.36.0');
  assert.match(rawVersion(), /^version\.Info\{Major:"1", Minor:"36", .*GitVersion:"v1\.36\.0"/);
});
