/** Lines of real kernel logs, without time stamps. Call traces and lists of tasks are shortened. */
export const POD = '28fcb1a0-a45c-44e7-b9bf-e3b9360bedba';
export const CONTAINER = '3e5e5eab87df615f4777e6f7f261a7fb62f4a7ee5bc3e25e3a5b5223ccd368fe';

/** Linux 2.6.32 (RHEL 6), cgroup v1. */
export const rhel6Container = [
  'java invoked oom-killer: gfp_mask=0xd0, order=0, oom_adj=0, oom_scoe_adj=0',
  ' [<ffffffff81118898>] ? oom_kill_process+0x68/0x140',
  'Task in /LXC011175068174 killed as a result of limit of /LXC011175068174',
  'Memory cgroup out of memory: Kill process 215701 (java) score 854 or sacrifice child',
  'Killed process 215701, UID 679, (java) total-vm:11017300kB, anon-rss:7152432kB, file-rss:1232kB',
];

/** Linux 3.2, the node as a whole. */
export const linux32Node = [
  'php-cgi invoked oom-killer: gfp_mask=0x201da, order=0, oom_adj=0, oom_score_adj=0',
  'Out of memory: Kill process 2188 (mysqld) score 60 or sacrifice child',
  'Killed process 2188 (mysqld) total-vm:3330016kB, anon-rss:864176kB, file-rss:8072kB',
];

/** Linux 4.4, cgroup v1. */
export const linux44Container = [
  'stress invoked oom-killer: gfp_mask=0x24000c0, order=0, oom_score_adj=0',
  'Task in /docker/34186d9bd07706222bd427bb647ceed81e8e108eb653ff73c7137099fca1cab6 killed as a result of limit of /docker/34186d9bd07706222bd427bb647ceed81e8e108eb653ff73c7137099fca1cab6',
  'memory: usage 204800kB, limit 204800kB, failcnt 4563',
  'memory+swap: usage 0kB, limit 9007199254740988kB, failcnt 0',
  'kmem: usage 7524kB, limit 9007199254740988kB, failcnt 0',
  'Memory cgroup out of memory: Kill process 3893 (stress) score 966 or sacrifice child',
  'Killed process 3893 (stress) total-vm:211024kB, anon-rss:192272kB, file-rss:4kB',
];

/** Linux 5.0, the node as a whole, cgroup v1. */
export const linux50Node = [
  'node invoked oom-killer: gfp_mask=0x6280ca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), order=0, oom_score_adj=0',
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/cron.service,task=node,pid=4294,uid=1001',
  'Out of memory: Kill process 4294 (node) score 4 or sacrifice child',
  'Killed process 4294 (node) total-vm:937620kB, anon-rss:72856kB, file-rss:16kB, shmem-rss:0kB',
];

/** Linux 5.8, a pod with the driver cgroupfs on cgroup v1: the limit of the pod is exceeded by one of its containers. */
export const linux58Pod = [
  'java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=969',
  'CPU: 4 PID: 19289 Comm: java Not tainted 5.8.0-1031-oracle #32~20.04.2-Ubuntu',
  'memory: usage 8388608kB, limit 8388608kB, failcnt 9',
  'memory+swap: usage 8388608kB, limit 9007199254740988kB, failcnt 0',
  'kmem: usage 4kB, limit 9007199254740988kB, failcnt 0',
  'Tasks state (memory values in pages):',
  '[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name',
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${CONTAINER},mems_allowed=0-1,oom_memcg=/kubepods/burstable/pod${POD},task_memcg=/kubepods/burstable/pod${POD}/${CONTAINER},task=java,pid=50624,uid=10000`,
  'Memory cgroup out of memory: Killed process 50624 (java) total-vm:59726088kB, anon-rss:8225208kB, file-rss:26912kB, shmem-rss:0kB, UID:10000 pgtables:21384kB oom_score_adj:969',
  'oom_reaper: reaped process 50624 (java), now anon-rss:0kB, file-rss:0kB, shmem-rss:4kB',
];

const SYSTEMD_POD =
  '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod28fcb1a0_a45c_44e7_b9bf_e3b9360bedba.slice';

/** Linux 6.1, a container with the driver systemd and memory.oom.group on cgroup v2: all its processes are killed. */
export const linux61Group = [
  'stress invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=986',
  'memory: usage 32768kB, limit 32768kB, failcnt 118',
  'swap: usage 0kB, limit 0kB, failcnt 0',
  `Memory cgroup stats for ${SYSTEMD_POD}/cri-containerd-${CONTAINER}.scope:`,
  'anon 33030144',
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-${CONTAINER}.scope,mems_allowed=0,oom_memcg=${SYSTEMD_POD}/cri-containerd-${CONTAINER}.scope,task_memcg=${SYSTEMD_POD}/cri-containerd-${CONTAINER}.scope,task=stress,pid=39079,uid=107`,
  'Memory cgroup out of memory: Killed process 39079 (stress) total-vm:36916kB, anon-rss:31488kB, file-rss:1280kB, shmem-rss:0kB, UID:107 pgtables:112kB oom_score_adj:986',
  `Tasks in ${SYSTEMD_POD}/cri-containerd-${CONTAINER}.scope are going to be killed due to memory.oom.group set`,
  'Memory cgroup out of memory: Killed process 39050 (sh) total-vm:2576kB, anon-rss:128kB, file-rss:896kB, shmem-rss:0kB, UID:107 pgtables:56kB oom_score_adj:986',
  'Memory cgroup out of memory: Killed process 39079 (stress) total-vm:36916kB, anon-rss:0kB, file-rss:0kB, shmem-rss:0kB, UID:107 pgtables:112kB oom_score_adj:986',
];

/** Linux 5.10 (Raspberry Pi), the node as a whole, without cpusets; and Linux 6.8 with a pod's process as the victim. */
export const linux510Node = [
  'cc1plus invoked oom-killer: gfp_mask=0x100dca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), order=0, oom_score_adj=0',
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg=/,task=cc1plus,pid=493,uid=0',
  'Out of memory: Killed process 493 (cc1plus) total-vm:480436kB, anon-rss:376708kB, file-rss:148kB, shmem-rss:0kB, UID:0 pgtables:470kB oom_score_adj:0',
];
export const linux68NodeKillsPod = [
  'systemd invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0',
  `oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=system.slice,mems_allowed=0,global_oom,task_memcg=/kubepods/burstable/pod${POD}/${CONTAINER},task=entry,pid=19227,uid=0`,
  'Out of memory: Killed process 19227 (entry) total-vm:1656kB, anon-rss:120kB, file-rss:4kB, shmem-rss:0kB, UID:0 pgtables:40kB oom_score_adj:1000',
];

/** Linux 6.18, cgroup v1: a process in a group below the limited one. */
export const linux618Inside = [
  'perl invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0',
  'CPU: 1 UID: 0 PID: 19718 Comm: perl Not tainted 6.18.44 #1 PREEMPT(none)',
  'Call Trace:',
  ' oom_kill_process.cold+0x8/0x8a',
  'memory: usage 16384kB, limit 16384kB, failcnt 1025',
  'memory+swap: usage 16384kB, limit 9007199254740988kB, failcnt 0',
  'kmem: usage 164kB, limit 9007199254740988kB, failcnt 0',
  'Memory cgroup stats for /ktscmtest:',
  'hierarchical_memory_limit 16777216',
  'Tasks state (memory values in pages):',
  '[  19718]     0 19718    14179     4612     4032      580         0   102400        0             0 perl',
  'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/ktscmtest,task_memcg=/ktscmtest/c1,task=perl,pid=19718,uid=0',
  'Memory cgroup out of memory: Killed process 19718 (perl) total-vm:56716kB, anon-rss:16128kB, file-rss:2320kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:0',
];
