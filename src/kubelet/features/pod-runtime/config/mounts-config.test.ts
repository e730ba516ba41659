import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import type { MountedVolume } from '../../../model/pod-volumes.ts';
import type { MountFacts } from './mounts-config.ts';
import { planDevices, planVolumeMounts } from './mounts-config.ts';
import { aContainer } from '../testing/builders.ts';

type AMount = NonNullable<Container['volumeMounts']>[number];

const volume: MountedVolume = { name: 'v', hostPath: '/pods/v', readOnly: false, selinuxRelabel: true };

function plan(mount: Partial<AMount>, facts: Partial<MountFacts> = {}): ReturnType<typeof planVolumeMounts> {
  const container = aContainer('app', { volumeMounts: [{ name: 'v', mountPath: '/data', ...mount }] });
  return planVolumeMounts(container, {
    volumes: new Map([['v', volume]]),
    env: new Map([
      ['A', 'x'],
      ['EMPTY', ''],
      ['UP', '../x'],
      ['ROOT', '/x'],
    ]),
    podIps: [],
    selinuxEnabled: false,
    recursiveReadOnlySupported: false,
    imageVolumes: new Map(),
    ...facts,
  });
}

describe('mounts', () => {
  test('a mount follows its volume, and parts of volumes stay below it', () => {
    assert.deepEqual(plan({ readOnly: true, subPathExpr: 'd/$(A)', mountPropagation: 'HostToContainer' }), [
      {
        volume: 'v',
        index: 0,
        subPath: 'd/x',
        mount: {
          containerPath: '/data',
          hostPath: '/pods/v',
          readOnly: true,
          recursiveReadOnly: false,
          selinuxRelabel: false,
          propagation: 'host-to-container',
        },
      },
    ]);
    assert.throws(() => plan({ name: 'w' }), { message: 'cannot find volume "w" to mount into container "app"' });
  });

  test('a subPath is refused in upstream’s words when it leaves the volume, or when its expression has no value', () => {
    const refused = (mount: Partial<AMount>): string => {
      try {
        plan(mount);
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    };
    assert.deepEqual(
      [
        { subPath: '../x' },
        { subPath: 'a/../b' },
        { subPath: '/x' },
        { subPathExpr: '$(NO)' },
        { subPathExpr: '$(NO)/$(EMPTY)/$(A)' },
        { subPathExpr: '$(UP)' },
        { subPathExpr: '$(ROOT)/y' },
      ].map(refused),
      [
        "unable to provision SubPath `../x`: must not contain '..'",
        "unable to provision SubPath `a/../b`: must not contain '..'",
        'error SubPath `/x` must not be an absolute path',
        'missing value for NO',
        'missing value for EMPTY, NO',
        "unable to provision SubPath `../x`: must not contain '..'",
        'error SubPath `/x/y` must not be an absolute path',
      ],
    );
    assert.deepEqual(
      [plan({ subPathExpr: '$$(A)/..x' })[0]?.subPath, plan({ subPath: '' })[0]?.subPath],
      ['$(A)/..x', undefined],
    );
  });

  test('recursive read-only follows the runtime handler, or is refused where it is required', () => {
    const of = (mount: Partial<AMount>, supported: boolean): boolean | undefined =>
      plan({ readOnly: true, ...mount }, { recursiveReadOnlySupported: supported })[0]?.mount.recursiveReadOnly;
    const modes = ['Disabled', 'IfPossible', 'Enabled'] as const;
    assert.deepEqual(
      modes.map((recursiveReadOnly) => of({ recursiveReadOnly }, true)),
      [false, true, true],
    );
    assert.deepEqual([of({}, true), of({ recursiveReadOnly: 'IfPossible' }, false)], [false, false]);
    const refusal =
      'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is ';
    assert.throws(() => of({ recursiveReadOnly: 'Enabled' }, false), {
      message: `${refusal}not supported by the runtime`,
    });
    assert.throws(() => of({ recursiveReadOnly: 'Enabled', readOnly: false }, true), {
      message: `${refusal}not read-only`,
    });
    assert.throws(() => of({ recursiveReadOnly: 'IfPossible', mountPropagation: 'HostToContainer' }, true), {
      message: `${refusal}not compatible with propagation "HostToContainer"`,
    });
  });

  test('a read-only volume is mounted read-only, whatever the mount says', () => {
    const mounts = plan({ readOnly: false }, { volumes: new Map([['v', { ...volume, readOnly: true }]]) });
    assert.deepEqual(
      mounts.map(({ mount }) => mount.readOnly),
      [true],
    );
  });

  test('propagation is none unless the mount asks for it', () => {
    const modes = [undefined, 'None', 'HostToContainer', 'Bidirectional'] as const;
    assert.deepEqual(
      modes.map((mountPropagation) => plan({ mountPropagation })[0]?.mount.propagation),
      ['private', 'private', 'host-to-container', 'bidirectional'],
    );
  });
});

describe('images and devices as volumes', () => {
  test('an image, or a part of it, is mounted by the runtime and is read-only', () => {
    const imageVolumes = new Map([['v', { image: 'files:1', imageRef: 'sha256:1' }]]);
    const volumes = new Map([['v', { ...volume, hostPath: '', readOnly: true, selinuxRelabel: false }]]);
    const [whole] = plan({}, { imageVolumes, volumes });
    const [part] = plan({ subPath: 'etc' }, { imageVolumes, volumes });
    assert.deepEqual(
      [whole?.mount.image, whole?.mount.hostPath, whole?.mount.readOnly],
      [{ image: 'files:1', imageRef: 'sha256:1' }, '', true],
    );
    assert.deepEqual(
      [part?.mount.image, part?.subPath],
      [{ image: 'files:1', imageRef: 'sha256:1', subPath: 'etc' }, undefined],
    );
  });

  test('a device is passed to the container with the access of the claim', () => {
    const container = aContainer('app', { volumeDevices: [{ name: 'v', devicePath: '/dev/data' }] });
    const volumes = (more: Partial<MountedVolume>) => new Map([['v', { ...volume, ...more }]]);
    assert.deepEqual(planDevices(container, volumes({ device: true })), [
      { hostPath: '/pods/v', containerPath: '/dev/data', permissions: 'mrw' },
    ]);
    assert.deepEqual(
      planDevices(container, volumes({ device: true, readOnly: true })).map(({ permissions }) => permissions),
      ['r'],
    );
    assert.throws(() => planDevices(container, volumes({})), {
      message: 'cannot find volume "v" to pass into container "app"',
    });
    assert.throws(
      () =>
        planDevices(
          aContainer('app', { volumeDevices: [{ name: 'v', devicePath: 'data' }] }),
          volumes({ device: true }),
        ),
      { message: 'error DevicePath `data` must be an absolute path' },
    );
    assert.throws(() => plan({}, { volumes: volumes({ device: true }) }), {
      message: 'cannot find volume "v" to mount into container "app"',
    });
  });
});
