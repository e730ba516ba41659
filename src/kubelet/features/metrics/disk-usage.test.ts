import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podUid } from '../../model/ids.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { createAgentMetrics } from './agent-metrics.ts';
import type { MeasuredDisks } from './disk-usage.ts';
import { collectDisks, observeVolumeMeasurements } from './disk-usage.ts';

const running = emptyPodRuntimeStatus({ uid: podUid('u'), name: 'web', namespace: 'default' }, 0);
const claim = { namespace: 'default', name: 'data' };
const usage = {
  capacityBytes: 1000,
  availableBytes: 400,
  usedBytes: 600,
  inodes: 10,
  inodesFree: 7,
  inodesUsed: 3,
};

function fixture() {
  const metrics = createAgentMetrics();
  const collect = (disks: Partial<MeasuredDisks>, pods = [running]): void =>
    collectDisks(metrics, { volumes: new Map(), pods: new Map(), ...disks }, pods);
  const lines = async (): Promise<string[]> =>
    (await metrics.main.text())
      .split('\n')
      .filter((line) => /^kubelet_(volume_stats|container_log|volume_metric\w*(sum|count))/.test(line));
  return { metrics, collect, lines };
}

describe('the measured usage of volumes', () => {
  const labels = '{namespace="default",persistentvolumeclaim="data"}';

  it('is shown by claim', async () => {
    const { collect, lines } = fixture();
    collect({ volumes: new Map([['u', [{ volume: { claim }, usage }]]]) });
    assert.deepEqual((await lines()).sort(), [
      `kubelet_volume_stats_available_bytes${labels} 400`,
      `kubelet_volume_stats_capacity_bytes${labels} 1000`,
      `kubelet_volume_stats_inodes_free${labels} 7`,
      `kubelet_volume_stats_inodes_used${labels} 3`,
      `kubelet_volume_stats_inodes${labels} 10`,
      `kubelet_volume_stats_used_bytes${labels} 600`,
    ]);
  });

  it('is left out for volumes without a claim', async () => {
    const { collect, lines } = fixture();
    collect({ volumes: new Map([['u', [{ volume: {}, usage }]]]) });
    assert.deepEqual(await lines(), []);
  });

  it('shows the health that a driver reports, and none where it reports none', async () => {
    const { collect, lines } = fixture();
    const health = async (abnormal: boolean | undefined): Promise<string[]> => {
      const reported = abnormal === undefined ? undefined : { abnormal };
      collect({ volumes: new Map([['u', [{ volume: { claim }, usage: { ...usage, abnormal: reported } }]]]) });
      return (await lines()).filter((line) => line.includes('health'));
    };
    assert.deepEqual(await health(true), [`kubelet_volume_stats_health_status_abnormal${labels} 1`]);
    assert.deepEqual(await health(false), [`kubelet_volume_stats_health_status_abnormal${labels} 0`]);
    assert.deepEqual(await health(undefined), []);
  });

  it('is removed with the volume', async () => {
    const { collect, lines } = fixture();
    collect({ volumes: new Map([['u', [{ volume: { claim }, usage }]]]) });
    collect({});
    assert.deepEqual(await lines(), []);
  });

  it('is timed by the way of measuring', async () => {
    const { metrics, lines } = fixture();
    const observe = observeVolumeMeasurements(metrics);
    observe('du', 1500);
    observe('statfs', 10);
    assert.deepEqual(
      (await lines()).filter((line) => line.includes('"du"')),
      [
        'kubelet_volume_metric_collection_duration_seconds_sum{metric_source="du"} 1.5',
        'kubelet_volume_metric_collection_duration_seconds_count{metric_source="du"} 1',
      ],
    );
  });
});

describe('the measured usage of logs', () => {
  const pods = new Map([
    ['u', { logs: [['main', { usedBytes: 70 }]] as const }],
    ['gone', { logs: [['main', { usedBytes: 90 }]] as const }],
  ]);

  it('is shown by container of running pods, and removed with them', async () => {
    const { collect, lines } = fixture();
    collect({ pods });
    assert.deepEqual(await lines(), [
      'kubelet_container_log_filesystem_used_bytes{uid="u",namespace="default",pod="web",container="main"} 70',
    ]);
    collect({ pods }, []);
    assert.deepEqual(await lines(), []);
  });
});
