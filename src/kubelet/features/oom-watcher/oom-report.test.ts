import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OomKill, OomReport } from './oom-report.ts';
import { readOomLine } from './oom-report.ts';
import {
  CONTAINER,
  linux32Node,
  linux44Container,
  linux50Node,
  linux510Node,
  linux58Pod,
  linux618Inside,
  linux61Group,
  linux68NodeKillsPod,
  POD,
  rhel6Container,
} from './testing/kernel-lines.ts';

const MIB = 2 ** 20;

function killsIn(lines: readonly string[]): OomKill[] {
  let report: OomReport | undefined;
  return lines.flatMap((line) => {
    const read = readOomLine(report, line);
    report = read.report;
    return read.kill ?? [];
  });
}

const brief = (lines: readonly string[]): unknown[] =>
  killsIn(lines).map(({ scope, limitGroup, victimGroup, process, pid }) => [
    scope,
    limitGroup,
    victimGroup,
    process,
    pid,
  ]);

describe('an OOM report', () => {
  it('of a cgroup is read from Linux 2.6.32, 4.4, 5.8 and 6.18 with cgroup v1', () => {
    const docker = '/docker/34186d9bd07706222bd427bb647ceed81e8e108eb653ff73c7137099fca1cab6';
    const pod = `/kubepods/burstable/pod${POD}`;
    assert.deepEqual([rhel6Container, linux44Container, linux58Pod, linux618Inside].flatMap(brief), [
      ['cgroup', '/LXC011175068174', '/LXC011175068174', 'java', 215701],
      ['cgroup', docker, docker, 'stress', 3893],
      ['cgroup', pod, `${pod}/${CONTAINER}`, 'java', 50624],
      ['cgroup', '/ktscmtest', '/ktscmtest/c1', 'perl', 19718],
    ]);
  });

  it('reports the usage, the limit and the size of the process', () => {
    assert.deepEqual(
      [linux44Container, linux58Pod, linux618Inside].map((lines) => {
        const [kill] = killsIn(lines);
        return [kill?.usedBytes, kill?.limitBytes, kill?.processBytes];
      }),
      [
        [200 * MIB, 200 * MIB, 192_276 * 1024],
        [8192 * MIB, 8192 * MIB, 8_252_120 * 1024],
        [16 * MIB, 16 * MIB, 18_448 * 1024],
      ],
    );
  });

  it('of a whole container on cgroup v2 is one kill, that of the chosen process', () => {
    const slice =
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod28fcb1a0_a45c_44e7_b9bf_e3b9360bedba.slice';
    const scope = `${slice}/cri-containerd-${CONTAINER}.scope`;
    assert.deepEqual(brief(linux61Group), [['cgroup', scope, scope, 'stress', 39079]]);
  });

  it('of the node is read from Linux 3.2, 5.0, 5.10 and 6.8', () => {
    assert.deepEqual([linux32Node, linux50Node, linux510Node, linux68NodeKillsPod].flatMap(brief), [
      ['system', undefined, undefined, 'mysqld', 2188],
      ['system', undefined, '/system.slice/cron.service', 'node', 4294],
      ['system', undefined, '/', 'cc1plus', 493],
      ['system', undefined, `/kubepods/burstable/pod${POD}/${CONTAINER}`, 'entry', 19227],
    ]);
  });

  it('is recognised between lines of other subsystems, and several follow each other', () => {
    const mixed = linux58Pod.flatMap((line) => ['eth0: link up', line, 'audit: type=1400']);
    assert.deepEqual(brief([...mixed, ...linux510Node, ...mixed]), [
      ...brief(linux58Pod),
      ...brief(linux510Node),
      ...brief(linux58Pod),
    ]);
  });

  it('without its details concerns the node or is left out', () => {
    const ofCgroup = linux58Pod.filter((line) => line.startsWith('Memory cgroup out of memory'));
    const ofNode = linux510Node.filter((line) => line.startsWith('Out of memory'));
    assert.deepEqual([brief(ofCgroup), brief(ofNode)], [[], [['system', undefined, undefined, 'cc1plus', 493]]]);
  });

  it('that ends without a kill leaves nothing for the next', () => {
    const broken = linux58Pod.filter((line) => !line.includes('Killed process'));
    assert.deepEqual(brief([...broken, ...linux32Node]), brief(linux32Node));
  });
});

describe('a hostile name', () => {
  const summary = (oomMemcg: string, taskMemcg: string, task: string): string[] => [
    'x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0',
    `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=${oomMemcg},task_memcg=${taskMemcg},task=${task},pid=7,uid=0`,
    `Memory cgroup out of memory: Killed process 7 (${task}) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0`,
  ];

  it('of a sub-group does not blame another pod', () => {
    for (const folder of [
      'a,task_memcg=/kubepods/podother',
      'a,oom_memcg=/kubepods/podother',
      'a,task=x,pid=1,uid=0',
      'a,global_oom,b',
    ]) {
      const [kill] = killsIn(summary(`/kubepods/podmine/${folder}`, `/kubepods/podmine/${folder}`, 'x'));
      assert.equal(kill?.scope, 'cgroup', folder);
      assert.equal(kill.victimGroup, undefined, folder);
      assert.equal(kill.limitGroup, undefined, folder);
    }
  });

  it('of a process does not hide what follows it', () => {
    for (const task of ['a) total-vm:1kB', ',pid=1,uid=0', ') (', '', 'Killed process']) {
      const [kill] = killsIn(summary('/kubepods/podmine', '/kubepods/podmine/c', task));
      assert.deepEqual([kill?.process, kill?.pid, kill?.victimGroup], [task, 7, '/kubepods/podmine/c'], task);
    }
  });

  it('has a linear cost', () => {
    const long = ',task_memcg='.repeat(400);
    assert.deepEqual(
      killsIn(['x invoked oom-killer: ', `oom-kill:constraint=${long}`, `Killed process 1 (${long}`]),
      [],
    );
  });
});
