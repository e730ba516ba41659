import type { ImageServiceApi, RuntimeServiceApi } from '../../../cri/cri-api.ts';
import type { RuntimeDiskStats, TreeUse } from '../../ports/stats.ts';
import { classified } from '../cri/cri-failures.ts';

interface Usage {
  readonly timestamp: bigint;
  readonly usedBytes?: { value: bigint } | undefined;
  readonly inodesUsed?: { value: bigint } | undefined;
}

function treeUse({ timestamp, usedBytes, inodesUsed }: Usage): TreeUse {
  return {
    atMs: Number(timestamp / 1_000_000n),
    usedBytes: Number(usedBytes?.value ?? 0n),
    inodesUsed: Number(inodesUsed?.value ?? 0n),
  };
}

function firstOf(
  systems: readonly (Usage & { fsId?: { mountpoint: string } | undefined })[],
): (TreeUse & { mountpoint: string }) | undefined {
  const [first] = systems;
  const mountpoint = first?.fsId?.mountpoint ?? '';
  return first === undefined || mountpoint === '' ? undefined : { ...treeUse(first), mountpoint };
}

export function criDiskStats(
  runtime: Pick<RuntimeServiceApi, 'listContainerStats'>,
  images: Pick<ImageServiceApi, 'imageFsInfo'>,
): RuntimeDiskStats {
  return {
    writableLayers: async () => {
      const { stats } = await classified('ListContainerStats', runtime.listContainerStats({}));
      return new Map(
        stats.flatMap(({ attributes, writableLayer }) =>
          attributes === undefined || writableLayer === undefined
            ? []
            : [[attributes.id, treeUse(writableLayer)] as const],
        ),
      );
    },
    imageFs: async () => firstOf((await classified('ImageFsInfo', images.imageFsInfo({}))).imageFilesystems),
    containerFs: async () => firstOf((await classified('ImageFsInfo', images.imageFsInfo({}))).containerFilesystems),
  };
}
