import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import type { TrackedAuth } from './credentials/keyring.ts';
import { PullAccess } from './pull-access.ts';
import { PullRecordFiles } from './pull-records.ts';
import type { VerificationPolicy } from './pull-verification.ts';
import { mergeRecord, needsVerification, trimTagAndDigest } from './pull-verification.ts';

const rootDir = '/var/lib/kubelet';
const auth = (name: string, hash: string): TrackedAuth => ({
  username: 'u',
  password: 'p',
  hash,
  source: { uid: `uid-${name}`, namespace: 'default', name },
});

function world(
  policy: VerificationPolicy = 'NeverVerifyPreloadedImages',
  images: readonly string[] = [],
  allowlist: readonly string[] = [],
) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  const runtime = new FakeRuntime({ clock, images });
  const checks: string[] = [];
  const make = (): PullAccess =>
    new PullAccess({
      onCheck: (result) => void checks.push(result),
      records: new PullRecordFiles({ files, log, rootDir }),
      runtime,
      policy,
      allowlist,
      clock,
      log,
    });
  return { clock, files, log, runtime, make, access: make(), checks };
}

const may = (access: PullAccess, image: string, ref: string, ...secrets: TrackedAuth[]): Promise<boolean> =>
  access.mayUse(image, ref, async () => secrets);

async function pulled(access: PullAccess, image: string, ref: string, used?: TrackedAuth): Promise<void> {
  await access.begin(image);
  await access.succeeded(image, ref, used);
}

describe('access to pulled images', () => {
  it('requires proof according to the policy', () => {
    const images = [
      ['x:1', true],
      ['x:1', false],
      ['r.local/team/y', false],
    ] as const;
    const table = (policy: VerificationPolicy): boolean[] =>
      images.map(([image, byAgent]) => needsVerification(policy, ['r.local/team/*', 'x'], image, byAgent));
    assert.deepEqual(
      [
        table('NeverVerify'),
        table('NeverVerifyPreloadedImages'),
        table('NeverVerifyAllowlistedImages'),
        table('AlwaysVerify'),
      ],
      [
        [false, false, false],
        [true, false, false],
        [false, false, false],
        [true, true, true],
      ],
    );
    assert.equal(needsVerification('NeverVerifyAllowlistedImages', ['r.local/team/*'], 'r.local/teams/y', false), true);
    assert.deepEqual(['r.local:5000/x', 'r.local:5000/x:1', 'x@sha256:ab', 'x:1@sha256:ab'].map(trimTagAndDigest), [
      'r.local:5000/x',
      'r.local:5000/x',
      'x',
      'x',
    ]);
  });

  it('opens images pulled without credentials to all pods, and those pulled with a secret only to pods with that secret', async () => {
    const { access, checks } = world();
    await pulled(access, 'open:1', 'ref-open');
    await pulled(access, 'r.local/x:1', 'ref-x', auth('a', 'h1'));
    const answers = [
      await may(access, 'open:1', 'ref-open'),
      await may(access, 'r.local/x:1', 'ref-x'),
      await may(access, 'r.local/x:2', 'ref-x', auth('a', 'h1')),
      await may(access, 'r.local/x:1', 'ref-x', auth('b', 'other')),
      await may(access, 'preloaded:1', 'ref-p'),
    ];
    assert.deepEqual(answers, [true, false, true, false, true]);
    assert.deepEqual(checks, [
      'credentialRecordFound',
      'mustAuthenticate',
      'credentialRecordFound',
      'mustAuthenticate',
      'credentialPolicyAllowed',
    ]);
    assert.deepEqual(access.sizes(), { intents: 0, records: 2 });
  });

  it('matches a secret by content or by name, and records the one it did not know', async () => {
    const { access, make } = world();
    await pulled(access, 'x:1', 'ref', auth('a', 'h1'));
    assert.equal(await may(access, 'x:1', 'ref', auth('copy', 'h1')), true, 'the same content elsewhere');
    assert.equal(await may(access, 'x:1', 'ref', auth('copy', 'rotated')), true, 'the copy, after it was changed');
    assert.equal(await may(make(), 'x:1', 'ref', auth('elsewhere', 'rotated')), true, 'also after a restart');
  });

  it('does not treat the same image under another name as proven', async () => {
    const { access } = world();
    await pulled(access, 'open/x:1', 'ref');
    assert.equal(await may(access, 'private/x:1', 'ref'), false);
  });

  it("writes upstream's files and reads them after a restart", async () => {
    const { access, files, make } = world();
    await access.begin('x:1');
    const [intent = ''] = await files.list(`${rootDir}/image_manager/pulling`);
    assert.deepEqual(JSON.parse(files.peek(`${rootDir}/image_manager/pulling/${intent}`) ?? ''), {
      kind: 'ImagePullIntent',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      image: 'x:1',
    });
    await access.succeeded('x:1', 'sha256:1', auth('a', 'h1'));
    assert.deepEqual(await files.list(`${rootDir}/image_manager/pulling`), []);
    const [record = ''] = await files.list(`${rootDir}/image_manager/pulled`);
    assert.match(record, /^sha256-[0-9a-f]{64}$/);
    assert.deepEqual(JSON.parse(files.peek(`${rootDir}/image_manager/pulled/${record}`) ?? ''), {
      kind: 'ImagePulledRecord',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      lastUpdatedTime: '2026-01-01T00:00:00Z',
      imageRef: 'sha256:1',
      credentialMapping: {
        x: { kubernetesSecrets: [{ uid: 'uid-a', namespace: 'default', name: 'a', credentialHash: 'h1' }] },
      },
    });
    const after = make();
    assert.deepEqual(
      [await may(after, 'x:1', 'sha256:1'), await may(after, 'x:1', 'sha256:1', auth('a', 'h1'))],
      [false, true],
    );
  });

  it('requires proof for an image whose pull was interrupted by a crash', async () => {
    const { access, make, runtime, files } = world();
    await access.begin('x:1');
    runtime.addImage('x:1');
    const [image] = await runtime.listImages();
    const after = make();
    assert.equal(await may(after, 'x:1', image?.id ?? ''), false);
    assert.deepEqual(
      [
        (await files.list(`${rootDir}/image_manager/pulling`)).length,
        (await files.list(`${rootDir}/image_manager/pulled`)).length,
      ],
      [0, 1],
    );
  });

  it('counts broken records as absent and goes on', async () => {
    const { files, access, log } = world();
    files.seed({
      [`${rootDir}/image_manager/pulled/sha256-${'0'.repeat(64)}`]: '{"kind": "Image',
      [`${rootDir}/image_manager/pulled/sha256-${'1'.repeat(64)}`]: '[]',
      [`${rootDir}/image_manager/pulled/README`]: 'x',
    });
    assert.equal(await may(access, 'x:1', 'ref'), true);
    assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 2);
  });

  it('does not begin a pull that it could not record', async () => {
    const { files, access } = world();
    await access.load();
    files.fillDisk();
    await assert.rejects(access.begin('x:1'), /no space left/);
  });

  it('drops records of images that are gone, but not of those that were pulled meanwhile', async () => {
    const { access, clock, files } = world();
    await pulled(access, 'old:1', 'ref-old');
    await pulled(access, 'used:1', 'ref-used');
    await clock.advance(1000);
    const beganMs = clock.nowMs();
    await pulled(access, 'new:1', 'ref-new');
    await access.prune(new Set(['ref-used']), beganMs);
    assert.equal((await files.list(`${rootDir}/image_manager/pulled`)).length, 2);
  });

  it('once open to all stays open to all', () => {
    const open = mergeRecord(
      undefined,
      { imageRef: 'r', image: 'x:1', pulledWith: { nodePodsAccessible: true, secrets: [] } },
      1,
    );
    assert.equal(
      mergeRecord(
        open,
        {
          imageRef: 'r',
          image: 'x:2',
          pulledWith: {
            nodePodsAccessible: false,
            secrets: [{ uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' }],
          },
        },
        2,
      ),
      open,
    );
  });
});
