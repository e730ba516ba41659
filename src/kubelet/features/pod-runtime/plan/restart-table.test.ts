import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container, ContainerRestartRule } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { aContainer, anEphemeral, aPod, aRun, aStatus, factsOf } from '../testing/builders.ts';

/**
 * The table says what happens to a container that ended with 0, 1 or 42, while another container runs. `*` stands for
 * every pod policy.
 * - again: the container is started again
 * - stays: it is left unchanged
 * - next: its work is done, and the next one starts
 * - over: the pod is stopped
 * - reset: all containers of the pod are removed and start over
 */
const TABLE = `
kind       pod        own        rule             0      1      42
regular    Always     -          -                again  again  again
regular    OnFailure  -          -                stays  again  again
regular    Never      -          -                stays  stays  stays
regular    *          Always     -                again  again  again
regular    *          OnFailure  -                stays  again  again
regular    *          Never      -                stays  stays  stays
regular    *          Always     In-Restart       again  again  again
regular    *          OnFailure  In-Restart       stays  again  again
regular    *          Never      In-Restart       stays  stays  again
regular    *          Always     NotIn-Restart    again  again  again
regular    *          OnFailure  NotIn-Restart    again  again  again
regular    *          Never      NotIn-Restart    again  again  stays
regular    *          Always     In-All           again  again  reset
regular    *          OnFailure  In-All           stays  again  reset
regular    *          Never      In-All           stays  stays  reset
regular    *          Always     NotIn-All        reset  reset  again
regular    *          OnFailure  NotIn-All        reset  reset  again
regular    *          Never      NotIn-All        reset  reset  stays
regular    *          Never      Restart,All      stays  stays  again
regular    *          Never      All,Restart      stays  stays  reset
regular    Always     -          In-Restart       again  again  again
regular    OnFailure  -          In-Restart       stays  again  again
regular    Never      -          In-Restart       stays  stays  stays
init       Always     -          -                next   again  again
init       OnFailure  -          -                next   again  again
init       Never      -          -                next   over   over
init       *          OnFailure  -                next   again  again
init       *          Never      -                next   over   over
init       *          OnFailure  In-Restart       next   again  again
init       *          Never      In-Restart       next   over   again
init       *          Never      NotIn-Restart    next   again  over
init       *          OnFailure  In-All           next   again  reset
init       *          Never      In-All           next   over   reset
init       *          Never      NotIn-All        reset  reset  over
init       *          Never      Restart,All      next   over   again
init       *          Never      All,Restart      next   over   reset
sidecar    *          Always     -                again  again  again
ephemeral  *          -          -                stays  stays  stays
`;

const POLICIES = ['Always', 'OnFailure', 'Never'] as const;
type Policy = (typeof POLICIES)[number];

const rule = (action: 'Restart' | 'RestartAllContainers', operator: 'In' | 'NotIn' = 'In'): ContainerRestartRule => ({
  action,
  exitCodes: { operator, values: [42] },
});
const RULES: Readonly<Record<string, ContainerRestartRule[] | undefined>> = {
  '-': undefined,
  'In-Restart': [rule('Restart')],
  'NotIn-Restart': [rule('Restart', 'NotIn')],
  'In-All': [rule('RestartAllContainers')],
  'NotIn-All': [rule('RestartAllContainers', 'NotIn')],
  'Restart,All': [rule('Restart'), rule('RestartAllContainers')],
  'All,Restart': [rule('RestartAllContainers'), rule('Restart')],
};

function podWith(kind: string, restartPolicy: Policy, fields: Partial<Container>): Pod {
  const subject = aContainer('subject', fields);
  switch (kind) {
    case 'regular':
      return aPod({ restartPolicy, containers: [subject, aContainer('other')] });
    case 'ephemeral':
      return aPod({ restartPolicy, containers: [aContainer('other')], ephemeralContainers: [anEphemeral('subject')] });
    default:
      return aPod({ restartPolicy, initContainers: [subject], containers: [aContainer('other')] });
  }
}

/** Returns the table's word for the planned steps. */
function fate(kind: string, pod: Pod, exitCode: number): string {
  // While an init container runs, nothing else runs yet.
  const status = aStatus([aRun('subject', exitCode), ...(kind === 'init' ? [] : [aRun('other', 'running')])]);
  const { steps } = computePodActions(factsOf(pod, status));
  if (steps.some((step) => step.kind === 'removeContainer' && step.reason === 'restart-all'))
    return steps.some((step) => step.kind === 'startContainer') ? 'reset and more' : 'reset';
  if (steps.some((step) => step.kind === 'killPod')) return 'over';
  const started = steps.flatMap((step) => (step.kind === 'startContainer' ? [step.name] : []));
  if (started.length === 0) return steps.length === 0 ? 'stays' : JSON.stringify(steps);
  return started.join() === 'subject' ? 'again' : started.join() === 'other' ? 'next' : started.join();
}

describe('restarts of a container that exited', () => {
  const rows = TABLE.trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/));
  for (const [kind = '', podPolicy = '', own = '', rules = '', ...words] of rows) {
    for (const policy of podPolicy === '*' ? POLICIES : [podPolicy as Policy]) {
      test(`${kind}, pod ${policy}, own ${own}, rule ${rules}: ${words.join(' ')}`, () => {
        assert.ok(rules in RULES);
        const pod = podWith(kind, policy, {
          ...(own === '-' ? {} : { restartPolicy: own as Policy }),
          ...(RULES[rules] === undefined ? {} : { restartPolicyRules: RULES[rules] }),
        });
        assert.deepEqual(
          [0, 1, 42].map((code) => fate(kind, pod, code)),
          words,
        );
      });
    }
  }

  test('the table has every kind with every policy and rule that the API allows', () => {
    const seen = new Set(rows.map(([kind, , own, rules]) => `${kind} ${own} ${rules}`));
    const missing = ['Always', 'OnFailure', 'Never'].flatMap((own) =>
      Object.keys(RULES)
        .slice(0, 5)
        .flatMap((rules) => (seen.has(`regular ${own} ${rules}`) ? [] : [`regular ${own} ${rules}`])),
    );
    assert.deepEqual(missing, []);
  });
});
