import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { Container } from '../../../api/core/container.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';
import { aContainer, aPod } from './testing/builders.ts';
import { Harness } from './testing/harness.ts';

const CANARY = 'cAnArY-9f3c';
const fromSecret = (name: string, key = 'k') => ({ name, valueFrom: { secretKeyRef: { name: 's', key } } });

/** Returns everything that users, logs and APIs can see of two syncs of a pod whose containers have a secret. */
async function seen(
  fields: Partial<Container>,
  more: { spec?: Partial<PodSpec>; value?: string | Uint8Array; before?: (h: Harness) => void } = {},
): Promise<{ text: string; events: string[] }> {
  const log = recordingLog();
  const h = new Harness({ log });
  const value = Buffer.from(more.value ?? CANARY).toString('base64');
  h.objects = {
    ...h.objects,
    secret: () => ({ metadata: { name: 's', namespace: 'default', uid: '' }, data: { k: value, 'not a name': value } }),
  };
  h.volumes = async () => new Map([['v', { name: 'v', hostPath: '/vol', readOnly: false, selinuxRelabel: false }]]);
  h.files.seed({ '/vol/f': 'x' });
  more.before?.(h);
  const pod = aPod({
    ...more.spec,
    containers: [
      aContainer('app', {
        env: [fromSecret('S')],
        envFrom: [{ secretRef: { name: 's' } }],
        args: ['--password=$(S)'],
        ...fields,
      }),
    ],
  });
  const outcomes = [await h.sync(pod), await h.sync(pod)];
  await h.kill(pod);
  const text = JSON.stringify([
    h.events,
    h.timeline,
    h.notices,
    log.lines,
    outcomes.map(({ failures, waits, steps }) => ({ failures, waits, steps })),
    h.pods.startFailures.get(h.uid(pod), 'app'),
  ]);
  return { text, events: h.events };
}

describe('a secret of a container appears nowhere else', () => {
  const mount = (subPathExpr: string) => ({ volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr }] });
  const cases: [string, Parameters<typeof seen>][] = [
    ['when all goes well', [{}]],
    [
      'when the create is refused',
      [{}, { before: (h) => h.runtime.fail('createContainer', { kind: 'Invalid', message: 'no', times: 9 }) }],
    ],
    ['when the start fails', [{}, { before: (h) => h.runtime.behaviour('app', { failStart: 'no such file' }) }]],
    ['when a key is missing', [{ env: [fromSecret('S'), fromSecret('T', 'none')] }]],
    ['when the value is not text', [{}, { value: Buffer.concat([Buffer.from(CANARY), Buffer.from([0xff])]) }]],
    ['when it may not run as root', [{ securityContext: { runAsNonRoot: true } }]],
    ['when it makes a mount path invalid', [mount('$(S)'), { value: `../${CANARY}` }]],
    ['when it names an impossible path', [mount('f/$(S)')]],
    ['when it is an absolute path', [mount('$(S)'), { value: `/${CANARY}` }]],
    [
      'when its postStart hook fails',
      [
        {
          lifecycle: { postStart: { httpGet: { port: 80, httpHeaders: [{ name: 'Authorization', value: CANARY }] } } },
        },
        { before: (h) => void (h.hook = async () => ({ ok: false, message: 'refused' })) },
      ],
    ],
    [
      'when its sandbox fails',
      [{}, { before: (h) => h.runtime.fail('runSandbox', { kind: 'Internal', message: 'no', times: 9 }) }],
    ],
  ];
  for (const [name, given] of cases) {
    test(name, async () => {
      const { text, events } = await seen(...given);
      assert.equal(text.includes(CANARY) || text.includes(Buffer.from(CANARY).toString('base64')), false, text);
      assert.notDeepEqual(events, []);
    });
  }
});
