import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiClient } from './api-client.ts';
import { agentCommands } from './commands.ts';
import type { Terminal } from './exec-session.ts';

const STEERING = '\u001b[2J\u009b31m\u202eevil\r';

/** An agent whose every answer contains control sequences of terminals. */
async function shown(
  command: 'pods' | 'explain' | 'events',
  values: Readonly<Record<string, string>> = {},
): Promise<string> {
  let text = '';
  const write = (data: string | Uint8Array): void => void (text += data.toString());
  const terminal = { out: write, error: write } as unknown as Terminal;
  const answers = new Map<string, unknown>([
    [
      '/pods',
      {
        items: [
          {
            metadata: { name: `web${STEERING}`, namespace: 'default', uid: 'u' },
            spec: { containers: [{ name: 'c' }] },
            status: { phase: STEERING, reason: STEERING, podIP: STEERING },
          },
        ],
      },
    ],
    ['/api/problems', [{ message: `broken manifest ${STEERING}`, blocking: true }]],
    [
      '/api/events',
      {
        items: [
          {
            metadata: { name: 'e', namespace: 'default', uid: 'e' },
            involvedObject: { kind: 'Pod', name: `web${STEERING}`, namespace: 'default' },
            message: STEERING,
            reason: STEERING,
            type: STEERING,
          },
        ],
      },
    ],
    ['/explain', []],
  ]);
  const client = { json: (path: string) => Promise.resolve(answers.get(path)) } as unknown as ApiClient;
  await agentCommands[command](
    { values, given: new Set(), positionals: [], rest: [], help: false },
    { client, terminal, nowMs: () => 0 },
  );
  return text;
}

describe('what pods, images and manifests say does not steer the terminal that shows it', () => {
  for (const [command, values] of [
    ['pods', {}],
    ['pods', { output: 'json' }],
    ['pods', { output: 'name' }],
    ['explain', {}],
    ['events', {}],
    ['events', { output: 'json' }],
  ] as const) {
    it(`${command} ${Object.values(values).join('')}`, async () => {
      const text = await shown(command, values);
      assert.match(text, /u009b31m/, 'it is shown');
      assert.match(text, /^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e]*$/);
      if ('output' in values && values.output === 'json')
        assert.ok(
          JSON.stringify(JSON.parse(text.slice(0, text.lastIndexOf('}') + 1))).includes('\u009b'),
          'and is the same value for who reads it',
        );
    });
  }
});
