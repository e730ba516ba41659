import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import { hugePageSizeOf } from './huge-pages.ts';
import { testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const wanting = (...sizes: string[]): Partial<PodSpec> => ({
  containers: sizes.map((size, index) => ({
    name: `c${index}`,
    image: 'x',
    resources: { limits: { [`hugepages-${size}`]: size } },
    volumeMounts: [{ name: 'h', mountPath: '/h' }],
  })),
});

test('the page size is that of the medium, or the only one the pod requests', () => {
  const size = (medium: string, spec: Partial<PodSpec>): string => {
    try {
      return hugePageSizeOf(testPod('u', [], spec), medium);
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.deepEqual(
    [
      size('HugePages', wanting('2Mi')),
      size('HugePages-2Mi', wanting('1Gi', '2Mi')),
      size('HugePages', { resources: { requests: { 'hugepages-1Gi': '1Gi' } } }),
    ],
    ['2Mi', '2Mi', '1Gi'],
  );
  assert.deepEqual(
    [size('HugePages', wanting('1Gi', '2Mi')), size('HugePages', {}), size('HugePages-2Mi', wanting('1Gi'))],
    [
      "medium: HugePages can't be used if container requests multiple huge page sizes",
      'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
      'medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages',
    ],
  );
});

test('a volume in huge pages is a hugetlbfs of that page size, mounted once', async () => {
  const world = volumeWorld();
  const pod = testPod('u1', [{ name: 'h', emptyDir: { medium: 'HugePages-2Mi', sizeLimit: '4Mi' } }], wanting('2Mi'));
  await world.manager.ensure(pod);
  world.manager.stop();
  await world.restart().ensure(pod);
  assert.deepEqual(
    world.mounts.mounted.map(({ path, fsType, source, options }) => [path, fsType, source, options.words]),
    [[volumePath('u1', 'empty-dir', 'h'), 'hugetlbfs', 'nodev', ['pagesize=2Mi', 'size=4194304']]],
  );
});
